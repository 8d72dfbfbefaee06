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

#define SAMPLES_MOST 1024 /* chains, and as many leaves: 500 KiB; a power of two */

/* The sampled thread: the program's first thread, or another one. */
enum samples_thread { SAMPLES_FIRST, SAMPLES_OTHERS, SAMPLES_THREADS };

struct sample {
	uint64_t count[SAMPLES_THREADS];
	uint32_t depth; /* 0: a free row */
	bool folded;    /* of several chains, which share only the leaf */
	struct module_place frame[PERF_RING_CHAIN_MOST];
};

/* Returns 0 or -ENOMEM. */
int samples_start(void);

/* Adds one sample: `depth` frames, 1 to PERF_RING_CHAIN_MOST, the innermost first. */
void samples_add(const struct module_place *frame, size_t depth, enum samples_thread thread);

/* Returns the number of dropped samples. */
uint64_t samples_dropped(void);

/* Returns the number of rows: chains, leaves without a chain, and free ones. */
size_t samples_count(void);

/* `index` from 0 to samples_count() - 1, in no order. */
const struct sample *samples_read(size_t index);

#endif
