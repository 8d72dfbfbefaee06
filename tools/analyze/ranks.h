/*
 * The profiles of one run's ranks, side by side and as one.
 */
#ifndef HP_TOOLS_ANALYZE_RANKS_H
#define HP_TOOLS_ANALYZE_RANKS_H

#include "profile/profile.h"

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

/*
 * Merges the profiles into one: adds up times, counts and bytes.  The result borrows from
 * `profiles`, so close it before them.
 */
void ranks_merge(const struct profile *profiles, size_t count, struct profile *ret);

#endif
