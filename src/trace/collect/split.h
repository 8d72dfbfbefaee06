/*
 * Splits the wall time into states.  Pure: spans in, nanoseconds out.
 *
 * The spans of each layer are united, so overlapping spans count once.  Every nanosecond between
 * begin and end belongs to exactly one sum, so the sums add up to the wall time.  Spans arrive in
 * any order, and a bounded number is kept.  When the room is full, the older half is summed up for
 * good.  A span that arrives too late is clipped, and late_ns counts the clipped time.
 */
#ifndef HP_TRACE_COLLECT_SPLIT_H
#define HP_TRACE_COLLECT_SPLIT_H

#include "trace/collect/strip.h"

#include <stddef.h>
#include <stdint.h>

enum split_layer {
	SPLIT_TRANSFER,  /* a copy between host and device is in flight */
	SPLIT_KERNEL,    /* the device works: kernels, memsets, copies that stay on devices */
	SPLIT_COPY_CALL, /* the host is inside a call that copies */
	SPLIT_WAIT,      /* the host is inside a call that waits */
	SPLIT_DEFERRED,  /* a deferred copy is in flight after its call has returned */
	SPLIT_CALL,      /* the host is inside any call of the driver */
	SPLIT_START_UP,  /* the host is inside a call that starts CUDA or loads code */
	SPLIT_LAYERS
};

/* The states of the wall time, which exclude each other, in the order of the reports. */
enum split_part {
	SPLIT_PART_HOST,
	SPLIT_PART_STARTUP,
	SPLIT_PART_CALLS,
	SPLIT_PART_TRANSFER,
	SPLIT_PART_KERNEL,
	SPLIT_PART_OVERLAP,
	SPLIT_PARTS
};

#define SPLIT_STATES     (1 << SPLIT_LAYERS)
#define SPLIT_LAYER_BITS 3

/* Ranges of the program, from 0 on; range 0 is outside all ranges. */
#define SPLIT_RANGES     65

/* In place of a range: the time is in no sum. */
#define SPLIT_OUTSIDE    SPLIT_RANGES

/*
 * One span.  Its layer is in the low SPLIT_LAYER_BITS of `key`, so that sorting by `key` sorts by
 * start.
 */
struct split_span {
	uint64_t key, end;
};

static inline struct split_span split_span_of(unsigned layer, uint64_t start, uint64_t end)
{
	return (struct split_span){ .key = start << SPLIT_LAYER_BITS | layer, .end = end };
}

struct split {
	struct split_span *spans; /* the caller's memory */
	size_t count, room;
	uint64_t at;                 /* time before this is summed up */
	uint64_t open[SPLIT_LAYERS]; /* the end of the latest span of each layer */
	unsigned on;                 /* a bit for each layer whose latest span may not have ended */
	unsigned range;              /* the range at `at` */
	/* By the set of layers that were on. */
	uint64_t state_ns[SPLIT_RANGES + 1][SPLIT_STATES];
	struct strip strip; /* the same over time */
	uint64_t late_ns;   /* clipped: arrived too late */
	uint64_t begin;
};

/* The six states that sum to the wall time, and other results of the same sweep. */
struct split_sum {
	uint64_t wall_ns;
	struct profile_split parts; /* in the order of enum split_part */

	uint64_t layer_ns[SPLIT_LAYERS]; /* the union of each layer */
	uint64_t blocked_ns;             /* inside copy calls or waits */
	uint64_t call_copying_ns;        /* inside copy calls, while transfers ran */
	uint64_t call_waiting_ns;        /* inside copy calls, while only other device work ran */
	uint64_t call_overhead_ns;       /* inside copy calls, the device idle */
	uint64_t ahead_ns;               /* the host ran on while a deferred copy was in flight */
	uint64_t late_ns;                /* of spans, not of wall time: clipped, arrived too late */
};

/*
 * Starts a split at `begin`.  `spans` has room for `room` spans, 2 at least, and stays the
 * caller's.
 */
void split_init(struct split *split, struct split_span *spans, size_t room, uint64_t begin);

/* From the begin on, the time is left out, until a range begins. */
void split_begin_outside(struct split *split);

/* Adds a span.  Empty and backward spans are ignored. */
void split_add(struct split *split, enum split_layer layer, uint64_t start, uint64_t end);

/* From `at` on, until the next change, the time belongs to `range`. */
void split_range(struct split *split, uint64_t at, unsigned range);

/*
 * Sums all spans up to `end`, clips later parts, and empties `split`; called once.  No span may
 * have begun after `end`, since such a span may already be in the sums, and would then extend the
 * wall time.  If a copy is finished, the split itself takes more spans: the copy only sorts them.
 */
void split_finish(struct split *split, uint64_t end, struct split_sum *ret);

/* Writes one range's part of the sums of a finished split. */
void split_range_sum(const struct split *split, unsigned range, struct split_sum *ret);

#endif
