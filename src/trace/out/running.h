/*
 * Writes reports while the program runs: at the start and then from time to time, so that a killed
 * program leaves its profile behind.
 */
#ifndef HP_TRACE_OUT_RUNNING_H
#define HP_TRACE_OUT_RUNNING_H

#include "trace/out/report.h"

/*
 * The time until the next report, in a program that has run for `elapsed_ns`: a fiftieth of the
 * run, at least half a second and at most a minute.  So the last hour of a day writes 60 reports,
 * and a killed program loses at most a fiftieth of its profile.  Pure.
 */
uint64_t running_interval_ns(uint64_t elapsed_ns);

/* `base` holds what is constant in every report.  Returns 0 or -ENOMEM. */
int running_start(const struct report *base);

/* Allows reports: `base` is filled in. */
void running_allow(void);

/* Writes a report if one is due.  A collect_look_fn. */
void running_look(const struct collect_result *so_far, uint64_t until_ns);

#endif
