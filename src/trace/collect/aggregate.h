/*
 * Sums of copies, memsets and kernels, added as records arrive.  Memory is bounded however long the
 * program runs.
 *
 * The profile keeps two views of the same copies, so that one can check the other: CUPTI's records
 * from the device, and the calls through our wrappers.
 */
#ifndef HP_TRACE_COLLECT_AGGREGATE_H
#define HP_TRACE_COLLECT_AGGREGATE_H

#include "base/profile_fields.h"
#include "trace/collect/clockmap.h"
#include "trace/collect/cupti_min.h"
#include "trace/collect/events.h"
#include "trace/collect/sizes.h"
#include "trace/collect/split.h"
#include "trace/keys.h"
#include "trace/operation.h"

/* The last direction stands for unknown ones. */
#define AGGREGATE_DIRECTIONS (TRACE_DIRECTIONS + 1)

struct aggregate_sum {
	uint64_t count, bytes;
	uint64_t busy_ns;       /* sum over records; a record without times adds 0 */
	uint64_t untimed_bytes; /* of records whose time stamps give no duration */
};

#define AGGREGATE_KERNELS_MOST 4096 /* a power of two */
#define AGGREGATE_NAME_BYTES   ((size_t)4 << 20)
#define AGGREGATE_SPANS        ((size_t)512 << 10)
#define AGGREGATE_DEVICES      64

/* Sums of CUPTI's records.  Belongs to the thread that reads records. */
struct aggregate {
	struct aggregate_sum copies[AGGREGATE_DIRECTIONS][TRACE_MEMORIES];
	struct sizes sizes[AGGREGATE_DIRECTIONS][TRACE_MEMORIES];
	uint64_t fastest[AGGREGATE_DIRECTIONS]; /* bytes a second, of large pinned copies */
	struct aggregate_sum memsets;
	/* AGGREGATE_KERNELS_MOST, and one for all others; a name is "" if CUPTI gave none. */
	struct profile_kernel *kernels;
	struct keys names;                /* of kernels: hashes */
	struct aggregate_sum kernel_runs; /* of all kernels; bytes is 0 */
	uint64_t kernels_unnamed;         /* runs of kernels that are not in the full table */
	uint64_t device_mask;

	/* Work that began outside the capture range, in no other sum: copies over the bus, kernels.
	 */
	uint64_t outside_copies, outside_bytes, outside_kernels;

	uint64_t records;    /* records read */
	uint64_t incomplete; /* records delivered before their operation had ended */
	uint64_t outside;    /* time stamps outside the run: the clocks do not match */
	uint64_t untimed;    /* start and end 0: CUPTI could not collect them */
	uint64_t latest_ns;  /* end of the latest record, on our clock */
	uint64_t began_ns;
	uint64_t now_ns; /* upper limit of valid time stamps */
	struct clockmap clock;
	struct split split;
	size_t name_bytes;
	struct event_track stream; /* of the latest event */
	unsigned track_known;      /* its track, plus 1 */
};

/* Allocates about 9 MiB of our own memory.  Returns 0 or -ENOMEM. */
int aggregate_init(struct aggregate *aggregate, uint64_t began_ns);

/*
 * Adds one record of any kind.  `now_ns` is the upper limit of valid time stamps.  The clock must
 * have been sampled.
 */
void aggregate_record(struct aggregate *aggregate, const void *record, uint64_t now_ns);

/*
 * Ends a turn of reading: adds copies that have waited too long for their calls, or all if `last`.
 */
void aggregate_turn(struct aggregate *aggregate, uint64_t now_ns, bool last);

/* True if time stamps can place device work in host calls: at most 1 % lie outside the run. */
bool aggregate_is_alignable(const struct aggregate *aggregate);

#endif
