/*
 * Host code: the samples of a profile, by function.
 */
#ifndef HP_TOOLS_ANALYZE_HOST_CODE_H
#define HP_TOOLS_ANALYZE_HOST_CODE_H

#include "profile/profile.h"

/* A frame of a sample. */
struct host_entry {
	const struct profile_frame *frame;
	size_t function;
	int64_t count;
	bool leaf;
};

struct host_function {
	const struct profile_frame *frame; /* one with a name, or any one of the file */
	int64_t self, total;               /* samples */
	/* With most own samples.  NULL: none; no caller if more samples have none. */
	const struct profile_frame *line, *caller;
};

struct host_code {
	struct host_entry *entries;               /* of all samples, leaf first */
	struct host_function *functions, **order; /* order: most own samples first */
	size_t entry_count, function_count;
	int64_t all; /* samples */
};

/* Returns the frame that a sample counts for; NULL: it does not count. */
typedef const struct profile_frame *(*host_code_pick)(const struct profile *profile,
						      const struct profile_frames *frames,
						      const void *arg);

/*
 * Sums up the samples.  `pick` chooses the leaf of each; NULL: its innermost frame.  The lists are
 * the profile's.
 */
void host_code_sum(struct profile *profile, host_code_pick pick, const void *arg,
		   struct host_code *ret);

/*
 * Writes the function's name as names_place_short() does, or the name of the file that has the
 * code.
 */
const char *host_code_name(const struct profile *profile, const struct profile_frame *frame,
			   char *ret, size_t room, size_t columns);

/* True if the frame's function has a reliable name. */
bool host_code_has_name(const struct profile *profile, const struct profile_frame *frame);

/* Returns the samples of one call chain, of all threads. */
int64_t host_code_samples(const struct profile_sample *sample);

/* Returns the CPU time that so many samples stand for; UNKNOWN if the profile does not say. */
int64_t host_code_ns(const struct profile *profile, int64_t samples);

#endif
