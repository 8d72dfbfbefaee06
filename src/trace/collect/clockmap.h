/*
 * Converts CUPTI's time stamps to our clock.
 *
 * CUPTI uses CLOCK_REALTIME on Linux by default, but on CUDA 13 only once CUPTI has started
 * completely.  So the clock is sampled only after the first record has arrived.  Both clocks are
 * slewed alike and differ by steps only: the latest anchor is the best one for new records.
 */
#ifndef HP_TRACE_COLLECT_CLOCKMAP_H
#define HP_TRACE_COLLECT_CLOCKMAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * How far converted time stamps may be off.  CUPTI reads the clock for those of calls, so that they
 * are as exact as the anchor.  It interpolates those of work on the device, which may be off by
 * some microseconds; the limit is far above, since work beyond it shows that the clocks do not
 * match.
 */
#define CLOCKMAP_CALL_ERROR_NS 1000
#define CLOCKMAP_WORK_ERROR_NS 1000000

struct clockmap {
	bool anchored;
	int64_t offset_ns; /* CUPTI's clock less ours */
};

/* Reads CUPTI's clock.  Returns nonzero on failure. */
typedef int (*clockmap_read_fn)(uint64_t *ret_ns);

/*
 * Sets a new anchor: of `tries` readings between two of ours, the one with the smallest gap.
 * `read` is cuptiGetTimestamp(); if that fails, CLOCK_REALTIME is used.
 */
void clockmap_sample(struct clockmap *map, clockmap_read_fn read, int tries);

/* Converts `ns` of CUPTI's clock to ours.  Returns 0 for a time before our clock began. */
uint64_t clockmap_to_ours(const struct clockmap *map, uint64_t ns);

#endif
