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

/* Return the frames in `room`.  `guessed`: all but the first frame may be no callers. */
struct profile_frames emit_chain(struct emit_place *room, const struct module_place *frame,
				 size_t depth, bool guessed);
struct profile_source *emit_python(struct emit_place *room, const uint32_t *place, size_t depth);

/* Initializes the fields PLACE(frames) of a record of base/profile.def. */
#define EMIT_PLACE(room, place, guessed)                                         \
	.frames = emit_chain((room), (place)->frame, (place)->depth, (guessed)), \
	.python = emit_python((room), (place)->python, (place)->python_depth),   \
	.python_count = (place)->python_depth

/* Returns how host code was sampled. */
struct profile_sampling emit_sampling(const struct report *report);

/* Lists: samples, files of Python, modules. */
extern const struct json_list emit_places_lists[];

#endif
