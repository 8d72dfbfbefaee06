/*
 * Places that are one place to a reader.
 *
 * A line of Python may copy through different native code, of which a report shows nothing.  Copy
 * sites of one line with the same callers become one site.  Other sites are one if their native
 * call stacks are equal.
 */
#ifndef HP_TOOLS_PLACES_H
#define HP_TOOLS_PLACES_H

#include "profile.h"

/*
 * True if the frames are equal.  Their modules are indices into one list.  Inlined functions do not
 * count: their names may be known in one profile only.
 */
bool places_are_equal(const struct profile_frames *a, const struct profile_frames *b);

/*
 * Adds the site to that of its place in to->sites, or appends it; the list must have room.  The
 * site's modules are those of `to`.  Returns the index.
 */
size_t places_add_site(struct profile *to, const struct profile_site *site);

/* Merges the copy sites of each profile by place; everything that refers to them follows. */
void places_merge_sites(struct profile *profiles, size_t count);

#endif
