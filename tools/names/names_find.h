/*
 * Finds the names of places: functions, lines and inlined functions.
 *
 * They come from the files on this machine, and from what `hotpin resolve` stored in the profile.
 */
#ifndef HP_TOOLS_NAMES_NAMES_FIND_H
#define HP_TOOLS_NAMES_NAMES_FIND_H

#include "profile/profile.h"

/*
 * Finds the names of all native frames, of several profiles in one pass: each file is read once.
 * Then profile->names has each place once, by module and offset, also if it has no name.  The texts
 * belong to the first profile, so close all profiles together.  May take seconds.
 */
void names_find(struct profile *profiles, size_t count);

/* True if nothing is known of the place. */
bool names_is_unknown(const struct profile_name *name);

/*
 * Fills in the functions and lines of all frames.  A function that was inlined becomes a frame
 * before the one that contains its code; if there are too many, outer ones are left out.
 */
void names_apply(struct profile *profiles, size_t count);

/* Fills in readable names of kernels and events. */
void names_demangle(struct profile *profiles, size_t count);

/* Does all of these. */
void names_resolve(struct profile *profiles, size_t count);

#endif
