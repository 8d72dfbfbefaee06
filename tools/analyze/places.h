/*
 * Places that are one place to a reader.
 *
 * A line of Python may copy through different native code, of which a report shows nothing.  Copy
 * sites of one line with the same callers become one site.  Other sites are one if their native
 * call stacks are equal.
 */
#ifndef HP_TOOLS_ANALYZE_PLACES_H
#define HP_TOOLS_ANALYZE_PLACES_H

#include "profile/profile.h"

/*
 * Makes the sites those of `to`, one for each place.  Their modules are those of `to`.  Writes the
 * new number of each site.
 */
void places_merge(struct profile *to, struct profile_site *sites, size_t count, size_t *ret);

/* Merges the copy sites of each profile by place; everything that refers to them follows. */
void places_merge_sites(struct profile *profiles, size_t count);

#endif
