/*
 * Writes the lists of the profile: modules, call sites, buffers, repeats.
 */
#ifndef HP_TRACE_OUT_EMIT_LISTS_H
#define HP_TRACE_OUT_EMIT_LISTS_H

#include "trace/out/json.h"
#include "trace/out/report.h"

/* Writes each list as a field of the open object. */
void emit_lists(const struct report *report, struct json *json);

#endif
