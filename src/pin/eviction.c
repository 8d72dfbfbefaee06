/*
 * eviction.c - unpins blocks while the device is idle.
 *
 * Freed blocks are unpinned when they expire.  Blocks in use are unpinned only under severe memory
 * pressure or before a fork().  engine/housekeeper.c decides when.  A block with users stays.
 */
#include "pin/eviction.h"
#include "base/protections.h"
#include "heap/pin_state.h"
#include "heap/map.h"
#include "pin/pin.h"
#include "pin/use.h"

/* Unpins the block if it is pinned and no thread is inside.  Returns its room, or 0. */
static size_t unpin(struct block *block)
{
	const size_t room = block->room;
	word_until never = UINT64_MAX;

	if (pin_is_held() || !(hp_keeps(no_unpin_during_copy) ? word_try_unpin(&block->word)
							      : word_take(&block->word, &never)))
		return 0;
	use_unpin(block, false);
	return room;
}

size_t pin_evict_due(size_t bytes_most)
{
	size_t done = 0;

	while (done < bytes_most && !pin_is_held()) {
		struct block *block = heap_take_due();

		if (block == NULL)
			break;
		size_t room = unpin(block);
		heap_return(block);
		if (room == 0)
			break;
		done += room;
	}
	return done;
}

bool pin_eviction_due(void)
{
	return heap_any_due();
}

size_t pin_evict(size_t bytes)
{
	uintptr_t at = 0;

	heap_set_reclaim_target(bytes);
	size_t done = pin_evict_due(bytes);
	for (struct block *block; done < bytes && (block = range_walk(&at, UINTPTR_MAX)) != NULL;)
		done += unpin(block);
	return done;
}
