/*
 * Writes reports while the program runs.
 *
 * A report is written at the start and then from time to time, so that a killed program leaves its
 * profile behind.  HOTPIN_DUMP asks for further reports.
 */
#ifndef HP_TRACE_OUT_DUMP_H
#define HP_TRACE_OUT_DUMP_H

#include "trace/out/report.h"

/*
 * The time until the next report, in a program that has run for `elapsed_ns`: a fiftieth of the
 * run, at least half a second and at most a minute.  So the last hour of a day writes 60 reports,
 * and a killed program loses at most a fiftieth of its profile.  Pure.
 */
uint64_t dump_interval_ns(uint64_t elapsed_ns);

/*
 * `base` holds what is constant in every report.  Installs a handler for the signal of HOTPIN_DUMP,
 * or warns if the program already uses that signal.  Returns 0 or -ENOMEM.
 */
int dump_start(const struct report *base);

/* Allows reports: `base` is filled in. */
void dump_allow(void);

/* Writes a report if one is due.  A collect_look_fn. */
void dump_look(const struct collect_result *so_far, uint64_t until_ns);

/* In the child of fork(): the signal has no effect any more. */
void dump_after_fork_child(void);

#endif
