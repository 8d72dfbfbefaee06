/*
 * The lists of the profile: what was copied, called and launched, and where.
 */
#ifndef HP_TRACE_OUT_EMIT_LISTS_H
#define HP_TRACE_OUT_EMIT_LISTS_H

#include "trace/out/json.h"

extern const struct json_list emit_lists[];

#endif
