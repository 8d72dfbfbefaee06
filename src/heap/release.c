/*
 * release.c - the ways out of use: to a slot, to the free cache, to the kernel.
 *
 * System calls on large ranges run without the lock, on blocks that only this thread can reach
 * (BLOCK_LEAVING).
 */
#include "heap/release.h"
#include "base/clock.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/expiry.h"
#include "heap/huge_pages.h"
#include "heap/pages.h"
#include "heap/reclaim.h"
#include "heap/slots.h"
#include "heap/span.h"

#include <assert.h>
#include <errno.h>

/* The interval at which allocations and frees look for expired blocks. */
#define SWEEP_NS ((uint64_t)500000000)

/* Blocks that are parked for longer go first. */
#define STALE_NS ((uint64_t)20000000)

static uint64_t next_sweep; /* under the lock heap */

static size_t bytes_of(const struct block *list)
{
	size_t bytes = 0;

	for (; list != NULL; list = list->next)
		bytes += list->room;
	return bytes;
}

struct block *release_sweep(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	reclaim_note_kept();
	if (now < next_sweep && expiry_over() == 0)
		return NULL;
	next_sweep = now + SWEEP_NS;
	/* Blocks in use give their slots up first, then blocks that are idle. */
	if (expiry_over() > 0)
		cache_put_all(slots_drain(SLOTS_IN_USE, 0, now));
	if (expiry_over() > 0)
		cache_put_all(slots_drain(SLOTS_IDLE, now - STALE_NS, now));
	bool over = expiry_over() > 0;
	struct block *leaving = cache_take_expired(now, RELEASE_SWEEP_BYTES);
	if (over)
		reclaim_note_given_back(bytes_of(leaving));
	return leaving;
}

static bool park(struct block *block, uint64_t now)
{
	struct block *evicted = NULL;
	bool lengthened = block->lengthened;

	/*
	 * A block that grew by realloc() starts small again: cut from these pages, which are in
	 * the CPU caches, and not next to a slot that holds them back.
	 */
	block->lengthened = false;
	if (lengthened && block_pin(block) == BLOCK_PAGEABLE)
		return false;
	if (block->room > expiry_room())
		cache_put_all(slots_drain(SLOTS_IN_USE, 0, now));

	bool done = block->room <= expiry_room() && slots_adopt(block, now, &evicted);
	cache_put_all(evicted);
	if (done && block_pin(block) != BLOCK_PAGEABLE)
		expiry_note_parked();
	return done;
}

struct block *release_block(struct block *block)
{
	uint64_t now = hp_now_coarse_ns();

	assert(hp_lock_held(HP_LOCK_heap));
	assert(block->state == BLOCK_LEAVING);
	slots_leave(block);
	atomic_store_explicit(&block->size, 0, memory_order_relaxed);
	if (block_pin(block) == BLOCK_USER_REGISTERED) {
		atomic_store_explicit(&block->state, BLOCK_HELD, memory_order_release);
	} else if (block_is_altered(block)) {
		if (block_pin(block) == BLOCK_ALTERED) {
			block->next = release_sweep(now);
			return block;
		}
		cache_put(block, now);
	} else if (huge_would_be_better(block)) {
		block->next = release_sweep(now);
		return block;
	} else if (!park(block, now)) {
		cache_put(block, now);
	}
	return release_sweep(now);
}

size_t release_list(struct block *list)
{
	size_t bytes = bytes_of(list);

	while (list != NULL) {
		struct block *block = list;

		list = block->next;
		bool clean = pages_purge(block) || span_is_closed();
		hp_lock(HP_LOCK_heap);
		if (clean)
			span_give(block);
		else
			cache_put(block, hp_now_coarse_ns());
		hp_unlock(HP_LOCK_heap);
	}
	return bytes;
}
