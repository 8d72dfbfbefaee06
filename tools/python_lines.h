/*
 * Which lines of Python take CPU time?
 */
#ifndef HP_TOOLS_PYTHON_LINES_H
#define HP_TOOLS_PYTHON_LINES_H

#include "profile.h"

struct python_line {
	const struct profile_frame *frame; /* NULL: all CPU time without a place */
	int64_t samples, cpu_ns;
};

/*
 * Sums up the samples of Python by the line that names_frame() takes, most CPU time first.  Returns
 * how many lines; they are the profile's.  *ret_all_ns: the CPU time of all.
 */
size_t python_lines(struct profile *profile, struct python_line **ret, int64_t *ret_all_ns);

#endif
