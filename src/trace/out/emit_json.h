/*
 * Writes the profile as JSON: one object, as base/profile.def describes it.
 */
#ifndef HP_TRACE_OUT_EMIT_JSON_H
#define HP_TRACE_OUT_EMIT_JSON_H

#include "trace/out/report.h"
#include "trace/out/writer.h"

void emit_json(const struct report *report, struct writer *writer);

#endif
