/*
 * The lines of Python that take CPU time.
 */
#ifndef HP_TOOLS_ANALYZE_PYTHON_LINES_H
#define HP_TOOLS_ANALYZE_PYTHON_LINES_H

#include "profile/profile.h"

struct python_line {
	const struct profile_frame *frame; /* NULL: the CPU time whose place is unknown */
	int64_t samples, cpu_ns;
	bool is_import; /* all imports, except those of a known line; frame: one of them */
};

/*
 * Returns the line of each sample of Python with the sample's figures, in memory of the profile.
 * Writes for each the index of the first sample of this line.
 */
struct python_line *python_lines_of_rows(const struct profile *profile, size_t *ret_first);

/*
 * Sums up the samples of Python by the line that names_frame() takes, most CPU time first.  Returns
 * the number of lines, which belong to the profile.  *ret_all_ns: the CPU time of all lines.
 */
size_t python_lines(const struct profile *profile, struct python_line **ret, int64_t *ret_all_ns);

/* True if one of the frames is code of Python that imports modules. */
bool python_imports(const struct profile_frames *frames);

#endif
