/*
 * Writes the timeline of the profile.
 */
#ifndef HP_TRACE_OUT_EMIT_EVENTS_H
#define HP_TRACE_OUT_EMIT_EVENTS_H

#include "trace/out/json.h"
#include "trace/out/report.h"

/*
 * Begins to write the timeline, at the end of the run; false: there is none.  emit_events_end()
 * must follow.
 */
bool emit_events_begin(const struct report *report, struct profile_events *ret);
void emit_events_end(void);

/* Write its lists, in this order. */
void emit_event_names(const struct report *report, struct json *json, const char *name);
void emit_event_tracks(const struct report *report, struct json *json, const char *name);
void emit_event_shapes(const struct report *report, struct json *json, const char *name);
void emit_event_routes(const struct report *report, struct json *json, const char *name);
void emit_event_places(const struct report *report, struct json *json, const char *name);
void emit_event_fields(const struct report *report, struct json *json, const char *name);
void emit_event_rows(const struct report *report, struct json *json, const char *name);

#endif
