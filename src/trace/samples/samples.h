/*
 * Samples of the program's own code, which show where it spends CPU time, by call chain.
 *
 * Memory is bounded, and the sums include every sample.  When the table of chains is full, the
 * chains with the fewest samples give up their rows.  Their samples are kept by leaf only.  When
 * the table of leaves is also full, the samples of the rarest leaves are counted as dropped.
 *
 * Only the thread that reads records uses this file, without a lock.
 */
#ifndef HP_TRACE_SAMPLES_SAMPLES_H
#define HP_TRACE_SAMPLES_SAMPLES_H

#include "trace/places/modules.h"
#include "trace/samples/perf_ring.h"

#include <stdbool.h>

#define SAMPLES_MOST 1024 /* chains, and as many leaves: 650 KiB; a power of two */

/*
 * The sampled thread: the program's first thread; one of a few others, of which threads that ran
 * one after the other share a number; or any further thread.
 */
enum { SAMPLES_FIRST, SAMPLES_OTHERS = 7, SAMPLES_THREADS };

/* The time of the sample, by the copies and launches of the program: as known so far. */
enum samples_time { SAMPLES_BEFORE, SAMPLES_BETWEEN, SAMPLES_AFTER };

struct sample {
	uint64_t count[SAMPLES_THREADS];
	uint64_t before, after; /* of these: before the first and after the last copy or launch */
	uint32_t depth;         /* 0: a free row */
	bool folded;            /* of several chains, which share only the leaf */
	struct module_place frame[PERF_RING_CHAIN_MOST];
};

/* Returns 0 or -ENOMEM. */
int samples_start(void);

/* Adds one sample: `depth` frames, 1 to PERF_RING_CHAIN_MOST, the innermost first. */
void samples_add(const struct module_place *frame, size_t depth, size_t thread,
		 enum samples_time when);

/* The program has made another copy or launch: no sample so far is behind the last one. */
void samples_went_on(void);

/* Returns the number of dropped samples. */
uint64_t samples_dropped(void);

/* Returns the number of rows: chains, leaves without a chain, and free ones. */
size_t samples_count(void);

/* `index` from 0 to samples_count() - 1, in no order. */
const struct sample *samples_read(size_t index);

#endif
