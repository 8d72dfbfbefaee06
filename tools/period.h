/*
 * Cuts a profile to a part of the run, by time or NVTX range, as if nothing else had run.
 *
 * Figures that the timeline does not contain become UNKNOWN, and a note says so.
 */
#ifndef HP_TOOLS_PERIOD_H
#define HP_TOOLS_PERIOD_H

#include "profile.h"

/* Rows for getopt_long(), for every command that accepts a part. */
enum { PERIOD_FROM = 1000, PERIOD_TO, PERIOD_RANGE, PERIOD_STEADY };
#define PERIOD_OPTIONS                                              \
	{ "from", required_argument, NULL, PERIOD_FROM },           \
		{ "to", required_argument, NULL, PERIOD_TO },       \
		{ "range", required_argument, NULL, PERIOD_RANGE }, \
	{                                                           \
		"steady", no_argument, NULL, PERIOD_STEADY          \
	}

struct period {
	bool wanted, steady;
	int64_t from_ns, to_ns; /* to_ns 0: to the end */
	const char *range;      /* NULL: by time only */
};

/*
 * Accepts an option that getopt_long() returned.  False, after a message: its argument is no time.
 */
bool period_take(struct period *period, int option, const char *argument);

/* Returns the ns of "1.5", "1.5s", "20ms", "7us" or "5ns"; -1: any other text. */
int64_t period_parse(const char *text);

/*
 * Opens the profile and cuts it to the requested part.  Returns 0, or a negative errno after a
 * message.
 */
int period_open(const struct period *period, const char *path, struct profile *ret);

/* Opens `count` files by period_open().  NULL, after a message: a file cannot be opened. */
struct profile *period_open_all(const struct period *period, char *const *paths, size_t count);
void period_close_all(struct profile *profiles, size_t count);

/* From `from_ns` up to `to_ns`.  The spans of a list are in order and do not overlap. */
struct period_span {
	int64_t from_ns, to_ns;
};

/* Returns how many ns of an event lie in the spans. */
int64_t period_overlap(const struct period_span *spans, size_t count, int64_t start_ns,
		       int64_t end_ns);

/* Recomputes every figure of the profile for these spans.  Its events must be cut already. */
void period_sum(struct profile *profile, const struct period_span *spans, size_t count);

#endif
