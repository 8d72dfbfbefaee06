/*
 * Which functions of the program take its host code's time?
 */
#ifndef HP_TOOLS_ADVICE_HOST_H
#define HP_TOOLS_ADVICE_HOST_H

#include "profile.h"

struct advice_function {
	const struct profile_frame *frame; /* with the line of most of its samples */
	int64_t samples, ns; /* ns: an estimate, all functions together at most host_ns */
};

struct advice_host {
	struct advice_function *items; /* by falling time; free() */
	size_t count;
	bool is_sampled;
	int64_t own_ns; /* of all functions */
};

/*
 * Sums up the samples by the function of the program that was running, or had called libc.  Those
 * inside CUDA and inside interpreters are left out: no port removes them.
 */
void advice_host_read(const struct profile *profile, struct advice_host *ret);

#endif
