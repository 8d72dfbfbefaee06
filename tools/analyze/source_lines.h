/*
 * The lines of a program's sources with their figures, for the terminal and the page.
 */
#ifndef HP_TOOLS_ANALYZE_SOURCE_LINES_H
#define HP_TOOLS_ANALYZE_SOURCE_LINES_H

#include "profile/profile.h"
#include "names/source.h"

struct line_sum {
	int64_t copies, bytes, call_ns, samples;
	int64_t launches, launch_ns;     /* calls that launch, and time in them */
	int64_t device_ns, estimated_ns; /* of their kernels; estimated_ns: a part of that */
};

struct source_line {
	int64_t number;
	struct line_sum sum;
	const struct profile_frame *frame; /* a frame in that line; NULL: it has no figures */
	const char *text;                  /* not escaped; NULL: not known */
};

struct source_file {
	const char *path;          /* as the compiler wrote it, without "." and ".." */
	struct source_line *lines; /* by number; those with figures */
	size_t count;
	struct line_sum sum;
	bool is_verified; /* a build with the recorded build ID names it */

	/* By source_lines_read() */
	const char *why;   /* why the source is not shown; NULL: it is */
	const char *found; /* where the source was found */
	const char *older; /* the program or library that is older than the source */
	bool is_cut;       /* the source ends before the last lines */
};

struct source_lines {
	struct source_file *files; /* most time first */
	size_t count;
	size_t main_count;         /* the first ones, which are shown with their lines */
	struct line_sum placeless; /* without a source line; samples: those outside CUDA */
	int64_t cuda_samples;      /* inside CUDA's libraries; counted in the times of calls */
};

/* Sums up a profile whose names are resolved.  The lists are the profile's. */
void source_lines_sum(struct profile *profile, struct source_lines *ret);

/* Reads the source.  The file's lines become those that matter, and the lines around them. */
void source_lines_read(struct profile *profile, struct source_file *file,
		       const struct source_where *where);

/*
 * Returns the host's time: at calls that copy or launch, and by samples.  Unknown times count as 0.
 */
int64_t source_lines_ns(const struct profile *profile, const struct line_sum *sum);

/* True if the CPU time of host code is known for some lines. */
bool source_lines_have_host(const struct profile *profile);

#endif
