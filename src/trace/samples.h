/*
 * Where the program's own code spends CPU time: samples by call chain.
 *
 * Memory is bounded, and no sample is left out of the sums.  When the table of chains is full, the
 * chains of fewest samples give up their places; their samples stay with their leaf alone.  When
 * the table of leaves is full, too, those of fewest samples are counted as dropped.
 *
 * One thread, that which reads records; no lock.
 */
#ifndef HP_TRACE_SAMPLES_H
#define HP_TRACE_SAMPLES_H

#include "trace/modules.h"
#include "trace/perf_ring.h"

#include <stdbool.h>

#define SAMPLES_MOST 1024 /* chains, and as many leaves: 450 KiB */

/* Whose samples: of the program's first thread, or of the others. */
enum samples_thread { SAMPLES_FIRST, SAMPLES_OTHERS, SAMPLES_THREADS };

struct sample {
	uint64_t count[SAMPLES_THREADS];
	uint32_t depth; /* 0: a free place */
	bool folded;    /* of several chains: the leaf is what they share */
	struct module_place frame[PERF_RING_CHAIN_MOST];
};

/* 0 or -ENOMEM. */
int samples_start(void);

void samples_add(const struct module_place *frame, size_t depth, enum samples_thread thread);

/* Samples in no place. */
uint64_t samples_dropped(void);

size_t samples_count(void);

/* `index` from 0 to samples_count() - 1, in no order. */
const struct sample *samples_read(size_t index);

#endif
