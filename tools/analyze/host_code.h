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
	const struct profile_frame *frame;             /* one with a name, or any one of the file */
	int64_t self, total, line_count, caller_count; /* samples */
	const struct profile_frame *line, *caller;     /* with most own samples; NULL: none */
	const struct host_entry **leaves;              /* of its own samples */
	size_t leaf_count;
};

struct host_code {
	struct host_entry *entries; /* of all samples, leaf first */
	const struct host_entry **leaves;
	struct host_function *functions, **order; /* order: most own samples first */
	size_t entry_count, function_count;
	size_t own_count; /* functions with own samples: the first ones of `order` */
	int64_t all;      /* samples */
};

/* Sums up the samples.  The lists are the profile's. */
void host_code_sum(struct profile *profile, struct host_code *ret);

/*
 * Finds the line with most of a function's samples, and the caller in most of them; no caller if
 * more samples have none.
 */
void host_code_look_closer(const struct host_code *code, struct host_function *function);

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
