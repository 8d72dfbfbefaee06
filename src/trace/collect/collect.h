/*
 * The two threads behind the profile: one reads records, the other one asks CUPTI for records.
 *
 * The thread that reads also writes all profiles, including the last one.  So a file system that
 * stalls does not delay the program's threads.
 *
 * A thread of the program never calls a function of CUPTI that can hang.  Flushing has hung in
 * other profilers, so a separate thread flushes.  No thread waits for it longer than 5 s.
 */
#ifndef HP_TRACE_COLLECT_COLLECT_H
#define HP_TRACE_COLLECT_COLLECT_H

#include "trace/collect/aggregate.h"
#include "trace/collect/cupti.h"
#include "trace/collect/cupti_buffers.h"

struct collect_result {
	struct aggregate *device; /* NULL: the reading thread did not end in time */
	uint64_t dropped;         /* records that CUPTI reports as dropped */
	struct cupti_buffers_counts buffers;
	bool flush_hung;
	uint64_t must_show_left; /* copies after the last record that should have one */
};

/*
 * The thread that reads calls this function at least twice a second with the results so far.  These
 * results are complete up to `until_ns`, except for work that is still in flight.
 */
typedef void (*collect_look_fn)(const struct collect_result *so_far, uint64_t until_ns);

/*
 * Starts the thread that reads, and with it the samples of host code.  Returns 0, or
 * -ENOMEM/-EAGAIN if nothing can be collected.
 */
int collect_start(uint64_t began_ns, collect_look_fn look);

/*
 * Finds and starts CUPTI, and the thread that flushes.  Fills in `cupti`, and `why_not` if CUPTI is
 * not used: then only host spans are collected.  Once, after collect_start().
 */
void collect_from_device(struct cupti *cupti, int driver_version, char *why_not, size_t room);

/* Wakes the thread that reads, which calls `look`.  Any thread. */
void collect_wake(void);

/* Collects the records that CUPTI holds.  Waits at most 5 s, and not at all once CUPTI has hung. */
void collect_flush(void);

/*
 * Flushes for the last time, then ends the flusher and the reader's reading.  Only the caller uses
 * the result.  Waits at most 5 s for each of the two threads.
 */
void collect_stop(struct collect_result *ret);

/*
 * After collect_stop(): the reader's thread runs `words` once.  The caller waits as long as the
 * value of `progress` changes within 5 s.  Returns 0; -ETIMEDOUT: `words` has not returned yet;
 * -EBUSY: the thread still reads or writes, and will not run `words`.
 */
int collect_last(void (*words)(void), uint64_t (*progress)(void));

#endif
