/*
 * range.c - finds blocks by address for the other rooms.
 */
#include "heap/range.h"
#include "heap/map.h"

struct block *range_find(const void *address)
{
	struct block *block = map_at((uintptr_t)address);

	if (block == NULL ||
	    atomic_load_explicit(&block->state, memory_order_acquire) != BLOCK_LIVE)
		return NULL;
	return (uintptr_t)address - block->base < block->room ? block : NULL;
}

struct block *range_starting_at(const void *address)
{
	struct block *block = map_at((uintptr_t)address);

	if (block == NULL ||
	    atomic_load_explicit(&block->state, memory_order_acquire) != BLOCK_LIVE)
		return NULL;
	return atomic_load_explicit(&block->start, memory_order_relaxed) == (uintptr_t)address
		       ? block
		       : NULL;
}

bool range_covers(const struct block *block, const void *address, size_t bytes)
{
	size_t offset = (uintptr_t)address - block->base;

	return offset <= block->room && bytes <= block->room - offset;
}

size_t range_run(const struct block *block, const void *address)
{
	size_t offset = (uintptr_t)address - block->base;
	size_t segment = atomic_load_explicit(&block->segment, memory_order_relaxed);
	size_t run = segment - offset % segment, left = block->room - offset;

	return run < left ? run : left;
}
