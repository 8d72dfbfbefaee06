/*
 * Reads a profile's JSON into struct profile.
 */
#ifndef HP_TOOLS_PROFILE_READ_H
#define HP_TOOLS_PROFILE_READ_H

#include "reader.h"

/*
 * Read all single figures and texts; then all lists.  Check reader->wrong after each.
 */
void profile_read_head(struct reader *reader, json_t *root);
void profile_read_lists(struct reader *reader, json_t *root);

/* Reads one place into a struct profile_frame. */
void profile_read_frame(struct reader *reader, json_t *value, void *to);

/* Reads one of the names of `hotpin resolve` into a struct profile_frame. */
void profile_read_name(struct reader *reader, json_t *value, void *to);

/*
 * Reads the frames of `value`.  Python frames come first, as the innermost ones: the native frames
 * ran on their behalf.
 */
void profile_read_frames(struct reader *reader, json_t *value, struct profile_frames *ret);

/*
 * Reads the timeline.  Its rows point into sites, so the other lists are read first, and then call
 * this.
 */
void profile_read_events(struct reader *reader, json_t *root);

#endif
