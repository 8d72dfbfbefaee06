/*
 * The profiles of one run's ranks, side by side and as one.
 */
#ifndef HP_TOOLS_ANALYZE_RANKS_H
#define HP_TOOLS_ANALYZE_RANKS_H

#include "profile/profile.h"
#include "profile/texts.h"

/*
 * Moves launchers behind the ranks that they launched.  A launcher has no rank and did nothing on a
 * device.  Names them on stderr; returns the number of the remaining profiles, which come first.
 */
size_t ranks_only(struct profile *profiles, size_t count);

/*
 * Checks that the profiles are the ranks of one run.  Says on stderr why not, followed by `advice`,
 * and how many ranks are missing.  Returns 0, or -EINVAL if they are not and `advice` is not NULL.
 */
int ranks_check(const struct profile *profiles, size_t count, const char *advice);

/* The figures that are compared between ranks: the wall time and its states. */
enum { RANKS_WALL, RANKS_STATES, RANKS_FIGURES = RANKS_STATES + TEXT_STATES };
const char *ranks_figure_name(int figure);

struct ranks_spread {
	int64_t least, median, most;
	int64_t mean; /* UNKNOWN if a rank does not know the figure */
	const struct profile *of_least, *of_most;
};

struct ranks {
	const struct profile **runs; /* by rank */
	size_t count;
	const struct profile *slowest;
	struct ranks_spread spreads[RANKS_FIGURES];
};

/* Sorts the profiles by rank, and compares them. */
void ranks_compare(const struct profile **runs, size_t count, struct ranks *ret);

/* Returns the one with the longest wall time. */
const struct profile *ranks_slowest(const struct profile *const *runs, size_t count);

/*
 * Merges the profiles into one: adds up times, counts and bytes.  The result borrows from
 * `profiles`, so close it before them.
 */
void ranks_merge(const struct profile *profiles, size_t count, struct profile *ret);

#endif
