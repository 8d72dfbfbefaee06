/*
 * The functions, and the lines of Python, that take the time of the program's host code.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_HOST_H
#define HP_TOOLS_ANALYZE_ADVICE_HOST_H

#include "analyze/host_code.h"

struct advice_function {
	const struct profile_frame *frame;  /* with the line that has most of its samples */
	const struct profile_frame *caller; /* of most samples; NULL: not known */
	struct host_lines lines;            /* that have most of its samples; 0: not known */
	/* The time of its busiest thread: the sum over all functions is at most host_ns. */
	int64_t samples, ns;
	/* Of these: before the first and after the last copy or launch; the time between them. */
	int64_t before, after, between_ns;
	bool calls_cuda; /* of a Python line: its CUDA calls are not in ns */
};

struct advice_host {
	struct advice_function *items; /* longest time first; in memory of the profile */
	size_t count;
	bool is_sampled;
	bool is_python;     /* the program runs Python, and its lines are known */
	int64_t own_ns;     /* of all functions, or of all Python lines if that is more */
	int64_t library_ns; /* CPU time in libraries of C and C++ whose callers are not known */
	int64_t import_ns;  /* CPU time of Python's imports */
	int64_t before_ns;  /* host code before the first CUDA call, if it is not sampled */
	int64_t busy_ns;    /* CPU time in user space of the busiest thread */
};

/*
 * Sums up the samples by the function of the program that was running, or that had called libc.
 * Samples inside CUDA and inside interpreters are left out, because no port removes them.
 *
 * A program that runs Python has lines of Python, too.  Native functions are then those of its own
 * extensions: an installed library works on behalf of its caller.
 */
void advice_host_read(const struct profile *profile, struct advice_host *ret);

#endif
