/*
 * The emitters: the profile as JSON, as base/profile.def describes it, and the table at exit.
 */
#ifndef HP_TRACE_OUT_EMIT_H
#define HP_TRACE_OUT_EMIT_H

#include "trace/out/json.h"
#include "trace/out/report.h"
#include "trace/out/writer.h"
#include "trace/places/frames.h"

#define EMIT_TEXT_LINES_MOST 12
#define EMIT_FRAMES_MOST     12

/* Writes the profile: one object. */
void emit_json(const struct report *report, struct writer *writer);

/* Writes at most EMIT_TEXT_LINES_MOST lines, of at most `columns` columns. */
void emit_text(const struct report *report, struct writer *writer, unsigned columns);

/* The lists of the profile: what was copied, called and launched; places and samples; events. */
extern const struct json_list emit_lists[], emit_places_lists[], emit_events_lists[];

/*
 * Begins to write the timeline, if there is one, at the end of the run.  emit_events_end() must
 * follow.
 */
void emit_events_begin(const struct report *report, struct profile_events *ret);
void emit_events_end(void);

/* Returns how host code was sampled. */
struct profile_sampling emit_sampling(const struct report *report);

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

#endif
