/*
 * Writes lists of the profile: what was copied, called and launched, and where.
 */
#ifndef HP_TRACE_OUT_EMIT_LISTS_H
#define HP_TRACE_OUT_EMIT_LISTS_H

#include "trace/out/json.h"
#include "trace/out/report.h"

struct trace_flow;

struct profile_sum emit_sum(const struct trace_flow *flow);

/* The part of the profile that has all repeats; their list is not in it. */
struct profile_repeats emit_repeats(void);

/* Write lists of the profile. */
void emit_transfers(const struct report *report, struct json *json, const char *name);
void emit_kernels(const struct report *report, struct json *json, const char *name);
void emit_calls(const struct report *report, struct json *json, const char *name);
void emit_sites(const struct report *report, struct json *json, const char *name);
void emit_buffers(const struct report *report, struct json *json, const char *name);
void emit_gaps(const struct report *report, struct json *json, const char *name);
void emit_launches(const struct report *report, struct json *json, const char *name);
void emit_repeat_sites(const struct report *report, struct json *json, const char *name);

#endif
