/*
 * What of a profile's JSON goes where in struct profile?
 */
#ifndef HP_TOOLS_PROFILE_READ_H
#define HP_TOOLS_PROFILE_READ_H

#include "reader.h"

/*
 * All that is a single figure or text; then all that is a list.  Look at reader->wrong after each.
 */
void profile_read_head(struct reader *reader, json_t *root);
void profile_read_lists(struct reader *reader, json_t *root);

/* One place, to a struct profile_frame. */
void profile_read_frame(struct reader *reader, json_t *value, void *to);

/*
 * The frames of `value`.  Python frames come first, as the innermost: what they ran was called for
 * them.
 */
void profile_read_frames(struct reader *reader, json_t *value, struct profile_frames *ret);

/* The timeline, whose rows point into sites: after the other lists, which call this. */
void profile_read_events(struct reader *reader, json_t *root);

#endif
