/*
 * The lists of the profile: modules, call sites, buffers, repeats.
 */
#ifndef HP_TRACE_EMIT_LISTS_H
#define HP_TRACE_EMIT_LISTS_H

#include "trace/json.h"
#include "trace/report.h"

/* Each is a field of the object that is open. */
void emit_lists(const struct report *report, struct json *json);

#endif
