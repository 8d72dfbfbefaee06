/*
 * When is a report written while the program runs?
 *
 * At once and then from time to time, so that a program that is killed leaves its profile behind;
 * and when HOTPIN_DUMP says so.
 */
#ifndef HP_TRACE_DUMP_H
#define HP_TRACE_DUMP_H

#include "trace/report.h"

/*
 * How long after a report the next one is due, in a program that has run for so long: half a
 * second, then a fiftieth of the run, and a minute at most.  So the last hour of a day writes 60
 * reports, and a program that is killed loses a fiftieth of its profile at most.  Pure.
 */
uint64_t dump_interval_ns(uint64_t elapsed_ns);

/*
 * `base` is what is constant in every report.  Takes the signal of HOTPIN_DUMP unless the program
 * does something else with it; warns where it does.  0 or -ENOMEM.
 */
int dump_start(const struct report *base);

/* `base` is filled in: reports may be written. */
void dump_allow(void);

/* A collect_look_fn. */
void dump_look(const struct collect_result *so_far, uint64_t until_ns);

/* In the child of fork(): the signal has no effect any more. */
void dump_after_fork_child(void);

#endif
