/*
 * A part of a run, by time or NVTX range: a profile as if nothing else had been run.
 *
 * Only what the timeline tells is known of a part; the rest becomes UNKNOWN, and a note says so.
 */
#ifndef HP_TOOLS_PERIOD_H
#define HP_TOOLS_PERIOD_H

#include "profile.h"

/* Rows for getopt_long() of every command that takes a part. */
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
	const char *range;      /* NULL: not by one */
};

/* Takes what getopt_long() returned.  False: its argument is no time, which has been said. */
bool period_take(struct period *period, int option, const char *argument);

/* "1.5", "1.5s", "20ms", "7us", "5ns", in ns; -1: it is none of these. */
int64_t period_parse(const char *text);

/*
 * profile_open(), and cuts it to the part that is wanted.  Returns 0 or a negative errno, having
 * said why.
 */
int period_open(const struct period *period, const char *path, struct profile *ret);

/* Opens all of `count` files in this way.  NULL: one cannot be opened, which has been said. */
struct profile *period_open_all(const struct period *period, char *const *paths, size_t count);
void period_close_all(struct profile *profiles, size_t count);

/* From `from_ns` up to `to_ns`; in a list they stand in order, and apart. */
struct period_span {
	int64_t from_ns, to_ns;
};

/* How much of an event lies in the spans. */
int64_t period_overlap(const struct period_span *spans, size_t count, int64_t start_ns,
		       int64_t end_ns);

/* Makes every figure of the profile that of these spans; its events are cut already. */
void period_sum(struct profile *profile, const struct period_span *spans, size_t count);

#endif
