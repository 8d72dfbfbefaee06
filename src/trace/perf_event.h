/*
 * One perf event of the kernel, which samples one thread of this process: its CPU time by the
 * software clock, in user space only.
 *
 * The event lives by the mapping of its ring alone.  Its file descriptor is closed at once, so a
 * program that closes all descriptors, counts them or runs another program never meets it.  The
 * mapping is not inherited by fork() (the kernel marks it so), nor is the event.
 */
#ifndef HP_TRACE_PERF_EVENT_H
#define HP_TRACE_PERF_EVENT_H

#include "trace/perf_ring.h"

#include <sys/types.h>

#define PERF_EVENT_HZ         199
#define PERF_EVENT_DATA_BYTES ((size_t)16 << 10) /* at least: a page is, too */

/* The records of a ring where pages have `page` bytes; a page with head and tail is before them. */
size_t perf_event_data_bytes(size_t page);

/*
 * Starts sampling the thread `tid`.  Returns 0, -errno of perf_event_open(2), or -ENOBUFS: the
 * system does not let this user lock as much memory.
 */
int perf_event_start(pid_t tid, struct perf_ring *ret);

/* The ring is no more; samples that were not read are lost. */
void perf_event_stop(const struct perf_ring *ring);

/* How many rings this user may have without a share of RLIMIT_MEMLOCK, which is the program's. */
size_t perf_event_most(void);

/* /proc/sys/kernel/perf_event_paranoid; INT_MIN: not known. */
int perf_event_paranoid(void);

#endif
