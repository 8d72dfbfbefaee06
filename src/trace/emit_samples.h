/*
 * Writes the samples of host code in the profile.
 */
#ifndef HP_TRACE_EMIT_SAMPLES_H
#define HP_TRACE_EMIT_SAMPLES_H

#include "trace/json.h"
#include "trace/report.h"

/* Writes two fields of the open object.  Called before the modules, to which samples refer. */
void emit_samples(const struct report *report, struct json *json);

#endif
