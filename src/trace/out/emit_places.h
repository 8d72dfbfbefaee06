/*
 * Writes places in the program, and samples of host code, as parts of the JSON.
 */
#ifndef HP_TRACE_OUT_EMIT_PLACES_H
#define HP_TRACE_OUT_EMIT_PLACES_H

#include "trace/out/json.h"
#include "trace/out/report.h"
#include "trace/places/frames.h"

/* Writes the array "frames".  `guessed`: all but the first frame may be no callers. */
void emit_frames(struct json *json, const struct module_place *frame, size_t depth, bool guessed);

/* Writes the frames of a place, and those of Python if it has any. */
void emit_place(struct json *json, const struct frames_place *place);

/*
 * Writes the samples, and then all files that fields refer to: modules are written after all fields
 * that refer to them, and read before.
 */
void emit_samples(const struct report *report, struct json *json);

#endif
