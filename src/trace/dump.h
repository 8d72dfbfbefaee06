/*
 * When is a report written while the program runs?
 *
 * At once and then about twice a second, so that a program that is killed leaves its profile
 * behind; and when HOTPIN_DUMP says so.
 */
#ifndef HP_TRACE_DUMP_H
#define HP_TRACE_DUMP_H

#include "trace/report.h"

/*
 * `base` is what is constant in every report.  Takes the signal of HOTPIN_DUMP unless the program
 * does something else with it; warns where it does.
 */
void dump_start(const struct report *base);

/* `base` is filled in: reports may be written. */
void dump_allow(void);

/* A collect_look_fn. */
void dump_look(const struct collect_result *so_far, uint64_t until_ns);

/* In the child of fork(): the signal has no effect any more. */
void dump_after_fork_child(void);

#endif
