/*
 * Finds the names of places: functions, lines and inlined functions.
 *
 * They come from the files on this machine, and from what `hotpin resolve` stored in the profile.
 */
#ifndef HP_TOOLS_NAMES_NAMES_FIND_H
#define HP_TOOLS_NAMES_NAMES_FIND_H

#include "profile/profile.h"

/* A place of a profile, and its name. */
struct names_place {
	struct profile *profile;
	struct profile_module *file; /* NULL: an unknown file */
	int64_t ended; /* end time of the process; 0 if a build ID identifies the file */
	const struct profile_name *name; /* without the module; NULL: nothing is known */
	bool is_verified;                /* the name comes from the file that ran */
	struct profile_frame frame;      /* only module and offset before names_apply() */
};

struct names_places {
	struct names_place *items; /* by profile, module and offset, each once */
	size_t count;
};

/*
 * Finds the names of all native frames, of several profiles in one pass: each file is read once.
 * The lists belong to the first profile, so close all profiles together.  May take seconds; shows
 * progress.
 */
struct names_places names_find(struct profile *profiles, size_t count);

/*
 * Fills in the functions and lines of all frames.  A function that was inlined becomes a frame
 * before the one that contains its code; if there are too many, outer ones are left out.
 */
void names_apply(struct profile *profiles, size_t count, struct names_places *places);

/* Fills in readable names of kernels and events. */
void names_demangle(struct profile *profiles, size_t count);

/* Does all of these; without `places` only the last. */
void names_resolve(struct profile *profiles, size_t count, bool places);

#endif
