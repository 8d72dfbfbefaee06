/*
 * The functions of the program that take the time of its host code.
 */
#ifndef HP_TOOLS_ADVICE_HOST_H
#define HP_TOOLS_ADVICE_HOST_H

#include "profile.h"

struct advice_function {
	const struct profile_frame *frame; /* with the line that has most of its samples */
	int64_t samples, ns; /* ns: an estimate; the sum over all functions is at most host_ns */
};

struct advice_host {
	struct advice_function *items; /* longest time first; the caller calls free() */
	size_t count;
	bool is_sampled;
	int64_t own_ns;     /* of all functions */
	int64_t library_ns; /* CPU time in libraries of C and C++ whose callers are not known */
};

/*
 * Sums up the samples by the function of the program that was running, or that had called libc.
 * Samples inside CUDA and inside interpreters are left out, because no port removes them.
 */
void advice_host_read(const struct profile *profile, struct advice_host *ret);

#endif
