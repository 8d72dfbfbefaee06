/*
 * eviction.c - unpins blocks while the device is idle.
 *
 * Freed blocks are unpinned when they expire.  Blocks in use are unpinned only under severe memory
 * pressure or before a fork().  engine/housekeeper.c decides when.  A block with users stays.
 */
#include "pin/eviction.h"
#include "base/clock.h"
#include "base/protections.h"
#include "heap/expiry.h"
#include "heap/pin_state.h"
#include "pin/pin.h"
#include "pin/use.h"

#define CANDIDATES_MOST 16

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

/* The pinned blocks in use that were copied least recently, in that order. */
struct candidates {
	unsigned count;
	struct block *blocks[CANDIDATES_MOST];
	uint64_t copied_ns[CANDIDATES_MOST];
};

static void gather(struct block *block, void *arg)
{
	struct candidates *candidates = arg;
	uint64_t copied_ns = atomic_load_explicit(&block->copied_ns, memory_order_relaxed);
	unsigned at = candidates->count;

	bool is_used = (atomic_load(&block->word) & WORD_USERS) != 0;

	if (block_pin(block) != BLOCK_PINNED || block->state != BLOCK_LIVE ||
	    (is_used && hp_keeps(no_unpin_during_copy)))
		return;
	if (at == CANDIDATES_MOST) {
		if (copied_ns >= candidates->copied_ns[at - 1])
			return;
		at--;
	} else {
		candidates->count++;
	}
	for (; at > 0 && candidates->copied_ns[at - 1] > copied_ns; at--) {
		candidates->blocks[at] = candidates->blocks[at - 1];
		candidates->copied_ns[at] = candidates->copied_ns[at - 1];
	}
	candidates->blocks[at] = block;
	candidates->copied_ns[at] = copied_ns;
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
	uint64_t due = atomic_load_explicit(&expiry_due_at, memory_order_relaxed);

	return due != UINT64_MAX && due <= hp_now_coarse_ns();
}

/* Unpins about `bytes` of blocks in use, least recently copied first.  Returns the bytes. */
static size_t evict_in_use(size_t bytes)
{
	size_t done = 0, turn = 1;

	while (done < bytes && turn != 0) {
		struct candidates candidates = { .count = 0 };

		heap_each(gather, &candidates);
		turn = 0;
		for (unsigned i = 0; i < candidates.count && done + turn < bytes; i++)
			turn += unpin(candidates.blocks[i]);
		done += turn;
	}
	return done;
}

size_t pin_evict(size_t bytes)
{
	heap_set_reclaim_target(bytes);

	size_t done = pin_evict_due(bytes);
	return done < bytes ? done + evict_in_use(bytes - done) : done;
}
