/*
 * How short the run could have been: lower bounds of its wall time, from its split.
 *
 * Each bound is the least wall time under its assumption, so each saving is the most.
 */
#ifndef HP_TRACE_OUT_BOUNDS_H
#define HP_TRACE_OUT_BOUNDS_H

#include "trace/out/report.h"

#define BOUNDS_COUNT 3

/* Returns the time of copies of pageable memory in excess of the time at the link's peak. */
int64_t bounds_excess_ns(const struct report *report);

void bounds_fill(const struct report *report, struct profile_bound ret[BOUNDS_COUNT]);

#endif
