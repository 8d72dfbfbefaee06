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
	const struct profile_sample *leaf; /* NULL: a caller */
};

/* Of a sample, the threads whose figures the library keeps apart, and all further threads. */
#define HOST_CODE_THREADS 8

/* Lines of a source file, from `first` to `last`. */
struct host_lines {
	int64_t first, last;
};

struct host_function {
	const struct profile_frame *frame; /* one with a name, or any one of the file */
	int64_t self, total;               /* samples */
	/* Of `self`: by thread; before the first and after the last copy or launch. */
	int64_t threads[HOST_CODE_THREADS], before, after;
	/* With most own samples.  NULL: none; no caller if more samples have none. */
	const struct profile_frame *line, *caller;
	struct host_lines
		hot; /* the fewest lines of its file that have most own samples; 0: unknown */
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
void host_code_sum(const struct profile *profile, host_code_pick pick, const void *arg,
		   struct host_code *ret);

/* Returns the function's name as names_place() does, or the name of the file that has the code. */
const char *host_code_name(const struct profile *profile, const struct profile_frame *frame,
			   size_t columns);

/* Returns the samples of one call chain, of all threads. */
int64_t host_code_samples(const struct profile_sample *sample);

/*
 * Adds the samples of one call chain by thread.  Profiles of 0.1.0 do not tell the threads apart:
 * then all of them are the first thread's.
 */
void host_code_add_threads(const struct profile_sample *sample, int64_t *to);

/* Returns the most samples of one thread. */
int64_t host_code_busiest(const struct profile *profile, const int64_t *threads);

/* Returns the CPU time that so many samples stand for; UNKNOWN if the profile does not say. */
int64_t host_code_ns(const struct profile *profile, int64_t samples);

/* The names of frames, callers first: the function, or the file in brackets. */
struct host_chain {
	const char *names[PROFILE_FRAMES_MOST];
	size_t count;
	int64_t samples;
};

/* Returns the different call chains of the samples, by name.  The list is the profile's. */
struct host_chain *host_chains(const struct profile *profile, size_t *ret_count);

#endif
