/*
 * The two threads behind the profile: one reads records, one asks CUPTI for them.
 *
 * The thread that reads also writes all profiles, the last one too: a file system that stalls does
 * not hold up the program's threads.
 *
 * Nothing of CUPTI that can hang is ever called by a thread of the program: flushing has hung in
 * other profilers, so it happens on a thread of its own that nobody waits for longer than 5 s.
 */
#ifndef HP_TRACE_COLLECT_H
#define HP_TRACE_COLLECT_H

#include "trace/aggregate.h"
#include "trace/cupti.h"
#include "trace/cupti_buffers.h"

struct collect_result {
	struct aggregate *device; /* NULL: the thread that reads did not end in time */
	uint64_t dropped;         /* records that CUPTI said it dropped */
	struct cupti_buffers_counts buffers;
	uint64_t background_ns; /* CPU time of our thread that reads */
	bool flush_hung;
	uint64_t must_show_left; /* copies since the last record that should have given one */
};

/*
 * Called by the thread that reads, at least twice a second, with what is known so far; `until_ns`
 * is the time up to which it is complete, except for work that goes on still.
 */
typedef void (*collect_look_fn)(const struct collect_result *so_far, uint64_t until_ns);

/*
 * Finds and starts CUPTI (unless `why_not` says already why there is none; then host spans alone
 * are collected) and the threads.  Fills `cupti`, and `why_not` where it is not used.  Returns 0,
 * or -ENOMEM/-EAGAIN where nothing at all can be collected.
 */
int collect_start(struct cupti *cupti, int driver_version, uint64_t began_ns, collect_look_fn look,
		  char *why_not, size_t room);

/* Wakes the thread that reads, which calls `look`.  Any thread, signal handlers too. */
void collect_wake(void);

/* Collects what CUPTI holds; waits at most 5 s, and not at all once it has hung. */
void collect_flush(void);

/*
 * The last flush; ends the flusher, and the reader's reading.  The result is the caller's alone.
 * Waits 5 s for each at most.
 */
void collect_stop(struct collect_result *ret);

/*
 * After collect_stop(): the reader's thread runs `words`, once, and the caller waits for that as
 * long as what `progress` returns changes within 5 s.  Returns 0; -ETIMEDOUT: `words` has not
 * returned yet; -EBUSY: the thread still reads or writes, and will not run `words`.
 */
int collect_last(void (*words)(void), uint64_t (*progress)(void));

#endif
