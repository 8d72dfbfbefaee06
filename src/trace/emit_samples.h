/*
 * The samples of host code in the profile.
 */
#ifndef HP_TRACE_EMIT_SAMPLES_H
#define HP_TRACE_EMIT_SAMPLES_H

#include "trace/json.h"
#include "trace/report.h"

/* Two fields of the object that is open: before the modules, into which samples point. */
void emit_samples(const struct report *report, struct json *json);

#endif
