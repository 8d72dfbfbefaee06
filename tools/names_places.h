/*
 * The native frames of profiles, and the names that `hotpin resolve` stored for them.
 */
#ifndef HP_TOOLS_NAMES_PLACES_H
#define HP_TOOLS_NAMES_PLACES_H

#include "profile.h"

/* A native frame of a profile, and the file that contains its code. */
struct place {
	struct profile *profile;
	struct profile_frame *frame;
	struct profile_module *file; /* NULL: no file, or an unknown one */
	int64_t ended;  /* end time of the profile's process; 0 if a build id identifies the file */
	bool is_return; /* the frame held a return address when it was read */
};

struct place_list {
	struct place *items;
	size_t count;
};

/* Returns the native frames of all profiles, in the memory of the first. */
struct place_list names_places(struct profile *profiles, size_t count);

/*
 * Makes a frame of each function that is inlined into one.  If there are too many, outer ones of a
 * place are left out.
 */
void names_unfold(struct profile *profiles, size_t count);

/* Copies the source line, and the functions that are inlined there. */
void names_copy_line(struct profile_frame *to, const struct profile_frame *from);

/* True if the profile has names of places in this module. */
bool names_are_stored(const struct profile *profile, int64_t module);

/* Fills in what is missing of the function and the line, if they are stored. */
void names_recall(const struct place *place);

#endif
