/*
 * Places in the program, and the samples that were found there.
 */
#ifndef HP_TRACE_OUT_EMIT_PLACES_H
#define HP_TRACE_OUT_EMIT_PLACES_H

#include "trace/out/json.h"
#include "trace/places/frames.h"

#define EMIT_FRAMES_MOST 12

/* The frames of a record that is written. */
struct emit_place {
	struct profile_frame frame[EMIT_FRAMES_MOST];
	struct profile_source python[FRAMES_PYTHON_MOST];
};

/* Returns the frames in `room`.  `guessed`: all but the first frame may be no callers. */
struct profile_frames emit_frames(struct emit_place *room, const struct module_place *frame,
				  size_t depth, bool guessed);

/* Fills the Python frames of `room`, of which there are `depth`. */
struct profile_source *emit_python(struct emit_place *room, const uint32_t *place, size_t depth);

/* Returns how host code was sampled. */
struct profile_sampling emit_sampling(const struct report *report);

/* Lists: samples, files of Python, modules. */
extern const struct json_list emit_places_lists[];

#endif
