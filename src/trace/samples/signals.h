/*
 * Samples by a signal, for HOTPIN_SAMPLE=signal.  Each thread gets a timer on its CPU clock, and
 * handles the timer's signal itself.
 *
 * A signal can disturb the program: it ends sleeps and waits that the kernel never restarts
 * (signal(7): nanosleep(), poll(), epoll_wait(), select(), semaphores and sockets with a time
 * limit).  The timer runs only while the thread uses CPU time, so this happens only as such a call
 * begins or ends.  A thread that waits for any signal gets this signal, and the program can see its
 * handler.
 */
#ifndef HP_TRACE_SAMPLES_SIGNALS_H
#define HP_TRACE_SAMPLES_SIGNALS_H

#include "trace/samples/perf_ring.h"

#include <stdbool.h>
#include <sys/types.h>

#define SIGNALS_MOST 256 /* threads at a time; 16 KiB each */

/*
 * Takes a real-time signal that has no handler.  Returns 0, or -EBUSY if all of them have handlers.
 */
int signals_start(void);

/* True while the signal's handler is ours. */
bool signals_hold(void);

/* Work as perf_event_start() and perf_event_stop(). */
int signals_sample(pid_t tid, struct perf_ring *ret);
void signals_end(const struct perf_ring *ring);

#endif
