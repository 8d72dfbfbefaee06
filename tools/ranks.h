/*
 * The profiles of one run's ranks, side by side and as one.
 */
#ifndef HP_TOOLS_RANKS_H
#define HP_TOOLS_RANKS_H

#include "profile.h"

/*
 * Puts behind the others what is no rank of its stage's run, but what launched them: it has no rank
 * and did nothing on a device.  Says so on stderr; returns how many are left in front.
 */
size_t ranks_only(struct profile *profiles, size_t count);

/*
 * Are these the ranks of one run?  Says on stderr why not, with `advice` behind it, and how many
 * are missing; returns 0, or -EINVAL where they are not and there is an advice (else NULL).
 */
int ranks_check(const struct profile *profiles, size_t count, const char *advice);

/* Prints a row for each rank, and how unevenly they are loaded. */
void ranks_show(const struct profile *profiles, size_t count);

/*
 * All of them as one: times, counts and bytes are added up.  Borrows from `profiles`, which must be
 * closed after it.
 */
void ranks_merge(const struct profile *profiles, size_t count, struct profile *ret);

#endif
