/*
 * range.c - the heap's map, asked from outside.
 */
#include "host/range.h"
#include "host/map.h"

struct block *range_find(const void *address)
{
	struct block *block = map_at((uintptr_t)address);

	if (block == NULL ||
	    atomic_load_explicit(&block->state, memory_order_acquire) != BLOCK_LIVE)
		return NULL;
	return (uintptr_t)address - block->base < block->room ? block : NULL;
}

bool range_covers(const struct block *block, const void *address, size_t bytes)
{
	size_t offset = (uintptr_t)address - block->base;

	return offset <= block->room && bytes <= block->room - offset;
}

size_t range_run(const struct block *block, const void *address)
{
	size_t offset = (uintptr_t)address - block->base;
	size_t piece = atomic_load_explicit(&block->piece, memory_order_relaxed);
	size_t run = piece - offset % piece, left = block->room - offset;

	return run < left ? run : left;
}
