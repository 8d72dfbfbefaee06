/*
 * Free memory in lists by size, with a bit for each list that is not empty.
 *
 * Inside src/heap only.  The owner of a struct bins guards it.  The lists go through block->next.
 */
#ifndef HP_HEAP_BINS_H
#define HP_HEAP_BINS_H

#include "heap/block.h"

#include <stdbool.h>

/* Sizes of 1 to 31 units, then sixteen steps from a power of two to the next. */
#define BINS 640

struct bins {
	struct block *first[BINS]; /* the newest first */
	uint64_t filled[BINS / 64];
};

/* Returns the bin of blocks of `room` bytes: the largest whose sizes are not larger. */
unsigned bins_index(size_t room);

void bins_add(struct bins *bins, struct block *block);
void bins_remove(struct bins *bins, struct block *block);

/*
 * Returns the first bin that is not empty, from `from` upwards or downwards; BINS: all are empty.
 */
unsigned bins_up(const struct bins *bins, unsigned from);
unsigned bins_down(const struct bins *bins, unsigned from);

#endif
