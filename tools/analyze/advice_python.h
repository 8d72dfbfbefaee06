/*
 * What the advice takes from the samples of Python: the lines of the program that compute.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_PYTHON_H
#define HP_TOOLS_ANALYZE_ADVICE_PYTHON_H

#include "analyze/advice_host.h"

/* True if the program runs Python, and its lines are known. */
bool advice_runs_python(const struct profile *profile);

/* True if the frame is native code of an installed library. */
bool advice_is_installed(const struct profile *profile, const struct profile_frame *frame);

/* True if the profile has code of a library with `part` in its path. */
bool advice_uses(const struct profile *profile, const char *part);

/* True for a program of Python that uses PyTorch. */
bool advice_uses_torch(const struct profile *profile);

/*
 * Writes the lines of the program that compute, at most python_count of them, in no order.  Returns
 * their number.  Their ns add up to `most_ns` at most.
 *
 * Left out are imports, whose CPU time is added to *ret_import_ns, and lines of the standard
 * library. A line that calls CUDA counts without its calls of other libraries, since they may work
 * for CUDA, and without the time in its CUDA calls.
 */
size_t advice_python_lines(const struct profile *profile, int64_t most_ns,
			   struct advice_function *ret, int64_t *ret_import_ns);

#endif
