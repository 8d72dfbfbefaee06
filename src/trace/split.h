/*
 * Where did the wall time go?  Pure: spans in, nanoseconds out.
 *
 * Spans of each layer are united, so what overlaps counts once, and every nanosecond between
 * begin and end falls into exactly one of the sums: they add up to the wall time.  Spans come in
 * any order; a bounded number is kept, and when the room is full the older half is summed up for
 * good.  What arrives later than that is clipped and told (late_ns).
 */
#ifndef HP_TRACE_SPLIT_H
#define HP_TRACE_SPLIT_H

#include "trace/strip.h"

#include <stddef.h>
#include <stdint.h>

enum split_layer {
	SPLIT_TRANSFER,  /* a copy between host and device is in flight */
	SPLIT_KERNEL,    /* the device works: kernels, memsets, copies that stay on devices */
	SPLIT_COPY_CALL, /* the host is inside a call that copies */
	SPLIT_WAIT,      /* the host is inside a call that waits */
	SPLIT_DEFERRED,  /* a copy is in flight whose call would not have returned yet */
	SPLIT_CALL,      /* the host is inside any call of the driver */
	SPLIT_START_UP,  /* the host is inside one that starts CUDA or loads code */
	SPLIT_LAYERS
};

/* The states of the wall time, exclusive; in the order in which they are shown. */
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

/* Of the program, from 0 on; 0 is none of its own. */
#define SPLIT_STAGES     65

/* One span, its layer in the low SPLIT_LAYER_BITS of `key`, so that sorting is by start. */
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
	uint64_t at;                 /* everything before is summed up */
	uint64_t open[SPLIT_LAYERS]; /* where the latest span of each layer ends */
	unsigned on;                 /* a bit for each layer whose latest span may not have ended */
	unsigned stage;              /* the one at `at` */
	uint64_t state_ns[SPLIT_STAGES][SPLIT_STATES]; /* by the set of layers that were on */
	struct strip strip;                            /* the same over time */
	uint64_t late_ns;                              /* clipped because it came too late */
	uint64_t before_ns;                            /* clipped because it lies before begin */
	uint64_t begin;
};

/* The six states that sum to the wall time, and what else the same sweep knows. */
struct split_sum {
	uint64_t wall_ns;
	uint64_t overlap_ns;  /* transfers and other device work */
	uint64_t kernel_ns;   /* device work and no transfer */
	uint64_t transfer_ns; /* exposed: transfers and nothing else on the device */
	uint64_t startup_ns;  /* the device idle: some thread starts CUDA or loads code */
	uint64_t calls_ns;    /* likewise: some thread is inside another call of CUDA */
	uint64_t host_ns;     /* likewise, and none is */

	uint64_t layer_ns[SPLIT_LAYERS]; /* the union of each layer */
	uint64_t blocked_ns;             /* inside copy calls or waits */
	uint64_t call_copying_ns;        /* inside copy calls, while transfers ran */
	uint64_t call_waiting_ns;        /* inside copy calls, while only other device work ran */
	uint64_t call_overhead_ns;       /* inside copy calls, the device idle */
	uint64_t ahead_ns;               /* the host went on while a deferred copy was in flight */
	uint64_t late_ns;                /* of spans, not of wall time: how much came too late */
};

/* `spans` has room for `room` (2 at least) of them and stays the caller's. */
void split_init(struct split *split, struct split_span *spans, size_t room, uint64_t begin);

/* Empty and backward spans are ignored. */
void split_add(struct split *split, enum split_layer layer, uint64_t start, uint64_t end);

/* From `at` on, until the next change, it is `stage` that the time belongs to. */
void split_stage(struct split *split, uint64_t at, unsigned stage);

/*
 * Sums all up to `end` (later parts are clipped) and empties it; call it once.  No span may have
 * begun after `end`, or some of it may be in the sums already and the wall time ends with it.
 */
void split_finish(struct split *split, uint64_t end, struct split_sum *ret);

/*
 * As split_finish(), but what was added stays and more can be; `ret_copy` is as it would be then.
 */
void split_look(struct split *split, uint64_t end, struct split *ret_copy, struct split_sum *ret);

/* The part of the sums that belongs to one stage, of a split that is finished. */
void split_stage_sum(const struct split *split, unsigned stage, struct split_sum *ret);

/*
 * Shares of a whole in tenths of a percent, rounded so that they add up to exactly 1000 (largest
 * remainders first).  The parts must sum to more than 0, or all are 0.
 */
void split_tenths(const uint64_t *parts, size_t count, unsigned *ret_tenths);

#endif
