/*
 * What happened, added up as it happens: memory is bounded however long the program runs.
 *
 * Two views of the same copies are kept apart, so that one can check the other: what CUPTI
 * recorded on the device, and what went through our wrappers.
 */
#ifndef HP_TRACE_AGGREGATE_H
#define HP_TRACE_AGGREGATE_H

#include "trace/clockmap.h"
#include "trace/cupti_min.h"
#include "trace/memory_curve.h"
#include "trace/operation.h"
#include "trace/sizes.h"
#include "trace/split.h"

/* A direction that CUPTI did not tell. */
#define AGGREGATE_DIRECTIONS (TRACE_DIRECTIONS + 1)

/* What memory the host's end of a copy was in, as CUPTI says (the source's, between devices). */
enum aggregate_memory {
	AGGREGATE_UNKNOWN,
	AGGREGATE_PAGEABLE,
	AGGREGATE_STAGED, /* pinned to CUPTI, pageable to the program: staged.h */
	AGGREGATE_PINNED,
	AGGREGATE_DEVICE,
	AGGREGATE_ARRAY,
	AGGREGATE_MANAGED,
	AGGREGATE_MEMORIES
};

struct aggregate_sum {
	uint64_t count, bytes;
	uint64_t busy_ns;       /* of each record, added up; 0 for records without times */
	uint64_t untimed_bytes; /* of records that took no time, by their stamps */
};

struct aggregate_kernel {
	const char *name; /* in our memory; "" where CUPTI gave none */
	uint64_t count, busy_ns, most_ns;
};

#define AGGREGATE_KERNELS_MOST 4096
#define AGGREGATE_NAME_BYTES   ((size_t)4 << 20)
#define AGGREGATE_SPANS        ((size_t)512 << 10)
#define AGGREGATE_DEVICES      64

/* What CUPTI told.  Belongs to the thread that reads records. */
struct aggregate {
	struct aggregate_sum copies[AGGREGATE_DIRECTIONS][AGGREGATE_MEMORIES];
	struct sizes sizes[AGGREGATE_DIRECTIONS][AGGREGATE_MEMORIES];
	uint64_t pieces[AGGREGATE_DIRECTIONS];  /* that staged copies were made of */
	uint64_t fastest[AGGREGATE_DIRECTIONS]; /* bytes a second, of large pinned copies */
	struct aggregate_sum memsets;
	struct aggregate_kernel *kernels; /* AGGREGATE_KERNELS_MOST and one for all others */
	size_t kernel_names;
	struct aggregate_sum launches; /* of all kernels; bytes is 0 */
	uint64_t kernels_unnamed;      /* launches of kernels that found no room in the table */
	uint64_t device_mask;
	struct memory_curve *memory[AGGREGATE_DEVICES]; /* NULL: no allocation was recorded */

	uint64_t records; /* all that were read */
	uint64_t unknown_kinds;
	uint64_t incomplete; /* handed out before they had ended */
	uint64_t outside;    /* their stamps lie outside the run: the clocks do not match */
	uint64_t untimed;    /* start and end 0: CUPTI could not collect them */
	uint64_t latest_ns;  /* where the latest record ends, on our clock */
	uint64_t began_ns;
	struct clockmap clock;
	struct split split;
	size_t name_bytes;
	uint32_t track_place[3]; /* device, context, stream of the latest event */
	unsigned track_known;    /* its track, and 1 */
};

/* Takes about 9 MiB of our own memory.  0 or -ENOMEM. */
int aggregate_init(struct aggregate *aggregate, uint64_t began_ns);

/* One record of any kind.  `now_ns` bounds what its stamps may say; needs a sampled clock. */
void aggregate_record(struct aggregate *aggregate, const void *record, uint64_t now_ns);

/*
 * A turn of reading has ended: copies that waited for their calls too long, or `last` all, are
 * added.
 */
void aggregate_turn(struct aggregate *aggregate, uint64_t now_ns, bool last);

/* The kernels that took most time, at most `most`, by falling time. */
size_t aggregate_top_kernels(const struct aggregate *aggregate,
			     const struct aggregate_kernel **ret_top, size_t most);

/* Are the stamps good enough to lay device work during host calls?  At most 1 % may lie outside. */
bool aggregate_is_alignable(const struct aggregate *aggregate);

#endif
