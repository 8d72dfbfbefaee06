/*
 * The figures of a profile by source line: copies, and samples of host code.
 */
#ifndef HP_TOOLS_ANALYZE_LINE_SUMS_H
#define HP_TOOLS_ANALYZE_LINE_SUMS_H

#include "profile/profile.h"

struct line_sum {
	int64_t copies, bytes, call_ns, samples;
	int64_t launches, launch_ns;     /* calls that launch, and time in them */
	int64_t device_ns, estimated_ns; /* of their kernels; estimated_ns: a part of that */
};

struct line_row {
	int64_t number;
	struct line_sum sum;
	const struct profile_frame *frame; /* a frame in that line */
};

struct line_file {
	const char *path;      /* as the compiler wrote it, without "." and ".." */
	struct line_row *rows; /* by number */
	size_t count;
	struct line_sum sum;
	bool is_verified; /* a build with the recorded build ID names it */
};

struct line_table {
	struct line_file *files; /* most time first */
	size_t count;
	struct line_sum placeless; /* without a source line; samples: those outside CUDA */
	int64_t cuda_samples;      /* inside CUDA's libraries; counted in the times of calls */
};

/* True if the CPU time of host code is known for some lines. */
bool lines_has_host(const struct profile *profile);

/* Returns a path without "." and "..", as it is in struct line_file. */
const char *lines_path(struct profile *profile, const char *path);

/* Sums up a profile whose names are resolved.  The lists are the profile's. */
void lines_sum(struct profile *profile, struct line_table *ret);

/*
 * Returns the host's time: at calls that copy or launch, and by samples.  Unknown times count as 0.
 */
int64_t lines_ns(const struct profile *profile, const struct line_sum *sum);

#endif
