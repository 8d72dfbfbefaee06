/*
 * Samples by a signal, for HOTPIN_SAMPLE=signal: each thread gets a timer on its CPU clock, whose
 * signal it takes itself.
 *
 * What this can disturb: a signal ends sleeps and waits that the kernel never restarts (signal(7):
 * nanosleep(), poll(), epoll_wait(), select(), semaphores and sockets with a time limit).  The
 * thread must use CPU time for that, so it happens at the edge of such a call.  A thread that waits
 * for any signal gets this one, and the program can see its handler.
 */
#ifndef HP_TRACE_SIGNALS_H
#define HP_TRACE_SIGNALS_H

#include "trace/perf_ring.h"

#include <stdbool.h>
#include <sys/types.h>

#define SIGNALS_MOST 256 /* threads at a time; 16 KiB each */

/* Takes a real-time signal that has no handler.  0 or -EBUSY: every one of them has one. */
int signals_start(void);

/* True while the signal's handler is ours. */
bool signals_hold(void);

/* As perf_event_start() and perf_event_stop(). */
int signals_sample(pid_t tid, struct perf_ring *ret);
void signals_end(const struct perf_ring *ring);

#endif
