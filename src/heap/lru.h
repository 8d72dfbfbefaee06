/*
 * A list of free blocks in the order in which they were freed.
 *
 * Inside src/heap only.  The owner of a list guards it.  The list goes through block->older and
 * newer.
 */
#ifndef HP_HEAP_LRU_H
#define HP_HEAP_LRU_H

#include "heap/block.h"

struct lru {
	struct block *oldest, *newest;
	size_t bytes; /* sum of the rooms */
};

/* Adds a block by its freed_ns; cheap for a late one. */
void lru_add(struct lru *lru, struct block *block);
void lru_remove(struct lru *lru, struct block *block);

#endif
