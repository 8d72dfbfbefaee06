/*
 * alteration.c - blocks whose mapping the program changes.
 *
 * hotpin cannot know the state of changed pages: they may be read-only, belong to a file, or be
 * left out by fork().  For the rest of its life the block is copied as pageable memory.  After
 * free() its addresses are mapped again (pages.c), as libc would have unmapped them.
 */
#include "pin/alteration.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/pin_state.h"
#include "heap/map.h"
#include "heap/span.h"
#include "pin/pin.h"

/* Unpins the block for good.  Waits for running kernels, as the driver does. */
static void alter(struct block *block)
{
	bool alone = pin_change_begin(block, false);

	if (heap_set_altered(block) && block->pin == BLOCK_PINNED)
		pin_take_off(block, hp_keeps(altered_for_good) ? BLOCK_REFUSED : BLOCK_PAGEABLE);
	pin_change_end(alone);
}

void pin_altered(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address, end = range_end(address, bytes);

	for (struct block *block; (block = span_walk(&at, end)) != NULL;)
		if (!atomic_load_explicit(&block->altered, memory_order_acquire))
			alter(block);
}
