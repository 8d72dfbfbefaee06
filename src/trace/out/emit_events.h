/*
 * Writes the timeline of the profile.
 */
#ifndef HP_TRACE_OUT_EMIT_EVENTS_H
#define HP_TRACE_OUT_EMIT_EVENTS_H

#include "trace/out/json.h"
#include "trace/out/report.h"

/* Writes the timeline at the end of the run, or null while the program runs. */
void emit_events(const struct report *report, struct json *json);

#endif
