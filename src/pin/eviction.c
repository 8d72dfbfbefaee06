/*
 * eviction.c - unpins blocks, mostly while the device is idle.
 *
 * Freed blocks are unpinned when they expire.  Blocks in use are unpinned only under severe memory
 * pressure or before a fork().  engine/housekeeper.c decides when.  All blocks are unpinned in the
 * program's thread: by pin_evict_all() when the program itself cannot pin memory (engine/unpin.c),
 * by pin_end() when pinning ends.
 */
#include "pin/eviction.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/expiry.h"
#include "heap/pin_state.h"
#include "heap/span.h"
#include "pin/pin.h"
#include "pin/registration.h"

#define CANDIDATES_MOST 16

/* Ends our registration of a block that pin_ending() has made BLOCK_PINNING. */
static int end_pin(struct block *block, uintptr_t owner)
{
	uint64_t begun = hp_now_ns();
	int error = registration_end(block, owner);
	uint64_t ns = hp_now_ns() - begun;

	hp_lock(HP_LOCK_pin);
	/* Pages that the driver still holds must neither go back nor serve another allocation. */
	pin_ended(block, error, BLOCK_PAGEABLE);
	hp_unlock(HP_LOCK_pin);
	hp_count(unpins);
	pin_tell(block, false, ns);
	return error;
}

/*
 * Unpins a freed block that only this thread can reach, unless it is unpinned already or its
 * context is ending.
 */
static void unpin_leaving(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	bool ours = block->pin == BLOCK_PINNED;
	uintptr_t owner = ours ? pin_ending(block) : 0;
	hp_unlock(HP_LOCK_pin);
	if (ours)
		end_pin(block, owner);
}

/* Unpins a block in use if it is still pinned.  No copy begins meanwhile; returns 0 if one runs. */
static size_t unpin_in_use(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	bool may = (pin_copies.inside == 0 || !hp_keeps(no_unpin_during_copy)) && !pin_is_held() &&
		   block->pin == BLOCK_PINNED && block->state == BLOCK_LIVE;
	uintptr_t owner = may ? pin_ending(block) : 0;
	hp_unlock(HP_LOCK_pin);
	if (!may)
		return 0;
	size_t room = block->room;
	end_pin(block, owner);
	return room;
}

static size_t unpin_unless_copied(struct block *block)
{
	if (!hp_users_try_close(&pin_copies))
		return 0;
	size_t room = unpin_in_use(block);
	hp_users_open(&pin_copies);
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

	if (block->pin != BLOCK_PINNED || block->state != BLOCK_LIVE)
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
		done += block->room;
		unpin_leaving(block);
		heap_return(block);
	}
	return done;
}

bool pin_eviction_due(void)
{
	uint64_t due = atomic_load_explicit(&expiry_due_at, memory_order_relaxed);

	return due != UINT64_MAX && due <= hp_now_coarse_ns();
}

uint64_t pin_due_ns(void)
{
	return atomic_load_explicit(&expiry_due_at, memory_order_relaxed);
}

/* Unpins about `bytes` of blocks in use, least recently copied first.  Returns the bytes. */
static size_t evict_in_use(size_t bytes, size_t (*unpin)(struct block *block))
{
	size_t done = 0, turn = 1;

	while (done < bytes && turn != 0 && !pin_is_held()) {
		struct candidates candidates = { .count = 0 };

		hp_lock(HP_LOCK_pin);
		heap_each(gather, &candidates);
		hp_unlock(HP_LOCK_pin);
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
	return done < bytes ? done + evict_in_use(bytes - done, unpin_unless_copied) : done;
}

size_t pin_evict_all(void)
{
	pin_be_lean();
	heap_set_reclaim_target(SIZE_MAX);

	size_t done = pin_evict_due(SIZE_MAX);
	pin_stop_copies(false);
	done += evict_in_use(SIZE_MAX, unpin_in_use);
	pin_resume_copies();
	return done;
}

/* Returns the number of blocks. */
static size_t unpin_all_in_use(void)
{
	uintptr_t at = 0;
	size_t count = 0;

	for (struct block *block; (block = span_walk(&at, UINTPTR_MAX)) != NULL;) {
		uint32_t pin = atomic_load_explicit(&block->pin, memory_order_acquire);

		if (pin != BLOCK_PINNED && pin != BLOCK_PINNING)
			continue;
		bool alone = pin_change_begin(block, false);
		bool ours = block->pin == BLOCK_PINNED && block->state == BLOCK_LIVE;
		if (ours)
			pin_take_off(block, BLOCK_PAGEABLE);
		pin_change_end(alone);
		count += ours;
	}
	return count;
}

static size_t unpin_all_freed(void)
{
	size_t count = 0;

	heap_set_reclaim_target(SIZE_MAX);
	for (struct block *block; (block = heap_take_due()) != NULL; count++) {
		unpin_leaving(block);
		heap_return(block);
	}
	return count;
}

/* Blocks are freed and allocated meanwhile, so the last turn must find none. */
void pin_end(const char *why)
{
	size_t now, most;

	hp_uncancellable_begin();
	pin_stop(why);
	pin_stats(&now, &most);
	while (now != 0 && unpin_all_in_use() + unpin_all_freed() != 0)
		continue;
	hp_uncancellable_end();
}
