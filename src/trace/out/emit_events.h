/*
 * Writes the timeline of the profile.
 */
#ifndef HP_TRACE_OUT_EMIT_EVENTS_H
#define HP_TRACE_OUT_EMIT_EVENTS_H

#include "trace/out/json.h"
#include "trace/out/report.h"

/*
 * Begins to write the timeline, if there is one, at the end of the run.  emit_events_end() must
 * follow.
 */
void emit_events_begin(const struct report *report, struct profile_events *ret);
void emit_events_end(void);

/* Its lists. */
extern const struct json_list emit_events_lists[];

#endif
