/*
 * A perf event that samples one thread of this process, by its CPU time (the software clock), in
 * user space only.
 *
 * Only the mapping of its ring keeps the event alive.  Its file descriptor is closed at once.  So
 * it cannot disturb a program that closes or counts all descriptors or runs another program.  A
 * child of fork() inherits neither the event nor the mapping, which the kernel marks so.
 */
#ifndef HP_TRACE_SAMPLES_PERF_EVENT_H
#define HP_TRACE_SAMPLES_PERF_EVENT_H

#include "trace/samples/perf_ring.h"

#include <sys/types.h>

#define PERF_EVENT_HZ         199
#define PERF_EVENT_DATA_BYTES ((size_t)16 << 10)

/*
 * Starts sampling the thread `tid`.  Returns 0, -errno of perf_event_open(2), or -ENOBUFS if the
 * system does not let this user lock so much memory.
 */
int perf_event_start(pid_t tid, struct perf_ring *ret);

/* Stops sampling and unmaps the ring.  Unread samples are lost. */
void perf_event_stop(const struct perf_ring *ring);

/* Returns how many rings this user may have without using the program's RLIMIT_MEMLOCK. */
size_t perf_event_most(void);

/* /proc/sys/kernel/perf_event_paranoid; INT_MIN: not known. */
int perf_event_paranoid(void);

#endif
