/*
 * The copies of bytes in a batch, cut where registrations end.
 */
#ifndef HP_ENGINE_BATCH_RUNS_H
#define HP_ENGINE_BATCH_RUNS_H

#include "engine/batch.h"

/* The arrays that the driver gets: the program's, or hotpin's own in `memory`. */
struct runs {
	CUdeviceptr *to, *from;
	size_t *bytes, *indices, count;
	void *memory;
	size_t memory_bytes, copies;
	size_t *first; /* the first piece of each of the program's copies, then the end */
};

/* Replaces the program's arrays if a copy must be cut.  `kinds`: the number of indices. */
void runs_begin(struct runs *runs, const struct batch *batch, size_t kinds);

/* Translates *failed to the program's numbering.  Frees hotpin's arrays. */
void runs_end(const struct runs *runs, size_t *failed, CUresult result);

#endif
