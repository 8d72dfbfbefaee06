/*
 * Sums of the operations that the shim reports: copies, waits, launches.  The sums of all driver
 * calls by function are in calls.h.
 */
#ifndef HP_TRACE_CALLS_OPERATIONS_H
#define HP_TRACE_CALLS_OPERATIONS_H

#include "trace/collect/sizes.h"
#include "trace/collect/split.h"
#include "trace/operation.h"

#include <stdint.h>

struct operations {
	struct trace_sum copies[TRACE_DIRECTIONS][TRACE_MEMORIES];
	struct sizes sizes[TRACE_DIRECTIONS][TRACE_MEMORIES];
	uint64_t must_show; /* synchronous copies over the bus: the device's records have them */
	uint64_t waits;
	uint64_t deferred; /* synchronous copies that returned early */
	uint64_t joins;    /* waits of the host for deferred copies */
	uint64_t kernels, graphs;
	uint64_t kernels_in_graphs; /* of `kernels`: may be recorded into a graph, and never run */
	/* Outside the capture range, in no other sum: the device's records have these, too. */
	uint64_t outside_copies, outside_bytes, outside_must_show, outside_kernels;
	uint64_t spans_lost; /* calls and copies that the split of wall time misses */
	/*
	 * The cost of this bookkeeping to the program.  Rare work is measured, the rest sampled:
	 * each 17th.
	 */
	uint64_t append_ns;
};

/* hp_ring() rings `bell` when spans should be drained.  Returns 0 or -ENOMEM.  Once a process. */
int operations_start(_Atomic uint32_t *bell);

/* Add spans of the host, and one copy, with the lock `trace` held. */
void operations_spans(const struct split_span *spans, size_t count);
void operations_add(const struct trace_copy *copy);

/*
 * Brackets the bookkeeping of one call; a sample of the durations gives append_ns.
 * operations_sample_begins() returns 0 for a call that is not timed.  operations_rare() counts rare
 * or long work by itself (a first use, a hash of all bytes), from `from_ns` to now; a sample of the
 * thread around this work leaves it out.  Any thread.
 */
uint64_t operations_sample_begins(void);
void operations_sample_ends(uint64_t from_ns);
void operations_rare(uint64_t from_ns);

/*
 * Each adds one operation, and holds the lock `trace` for some nanoseconds.  `is_join`: the wait is
 * for deferred copies.
 */
void operations_wait(bool is_join, uint64_t enter_ns, uint64_t leave_ns);
void operations_launch(enum trace_launch launch);
void operations_start_up(uint64_t from_ns, uint64_t to_ns);

/* Notes a call that no sum counts, since there is no memory for it. */
void operations_lose_call(void);

/* Count a copy or a launch outside the capture range. */
void operations_copy_outside(const struct trace_copy *copy);
void operations_launch_outside(enum trace_launch launch);

/*
 * Moves the spans and ranges noted so far into `split`.  Only the thread that owns `split` calls
 * this function.
 */
void operations_drain(struct split *split);

/* Copies all sums, some 55 kB.  Takes the lock `trace`. */
void operations_read(struct operations *ret);

/* Returns must_show and outside_must_show of struct operations. */
uint64_t operations_must_show(void);

#endif
