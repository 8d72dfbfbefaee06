/*
 * pin_state.c - changes the pin state of blocks for src/pin.
 */
#include "heap/pin_state.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/cache.h"
#include "heap/expiry.h"
#include "heap/release.h"
#include "heap/span.h"

#include <assert.h>
#include <limits.h>

void heap_set_pin_locked(struct block *block, enum block_pin pin)
{
	assert(hp_lock_held(HP_LOCK_heap));
	bool changing = block->pin == BLOCK_PINNING;

	if (pin == BLOCK_PAGEABLE && block->altered && hp_keeps(altered_for_good))
		pin = BLOCK_REFUSED;
	if (block->state == BLOCK_LIVE)
		atomic_store(&block->pin, pin);
	else
		expiry_set_pin(block, pin);
	if (changing && pin != BLOCK_PINNING)
		hp_wake(&block->pin, INT_MAX);
}

size_t heap_pin_begin(struct block *block)
{
	size_t room = 0;

	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	if (block->state == BLOCK_LIVE && block->pin == BLOCK_PAGEABLE &&
	    !expiry_is_pinned_over()) {
		room = block->room;
		heap_set_pin_locked(block, BLOCK_PINNING);
	}
	hp_unlock(HP_LOCK_heap);
	return room;
}

bool heap_set_altered(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	bool live = block->state == BLOCK_LIVE;
	if (live) {
		atomic_store_explicit(&block->altered, true, memory_order_release);
		if (block->pin == BLOCK_PAGEABLE)
			heap_set_pin_locked(block, hp_keeps(altered_for_good) ? BLOCK_REFUSED
									      : BLOCK_PAGEABLE);
	}
	hp_unlock(HP_LOCK_heap);
	return live;
}

void heap_set_pin(struct block *block, enum block_pin pin)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	heap_set_pin_locked(block, pin);
	hp_unlock(HP_LOCK_heap);
}

struct block *heap_take_due(void)
{
	hp_lock(HP_LOCK_heap);
	struct block *block = cache_take_due(hp_now_coarse_ns());
	hp_unlock(HP_LOCK_heap);
	return block;
}

void heap_return(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	bool bare = block->pin == BLOCK_PAGEABLE || block->pin == BLOCK_REFUSED;
	if (block->pin == BLOCK_USER_REGISTERED)
		atomic_store_explicit(&block->state, BLOCK_HELD, memory_order_release);
	else if (!bare)
		cache_put(block, block->freed_ns);
	hp_unlock(HP_LOCK_heap);
	if (bare) {
		block->next = NULL;
		release_list(block);
	}
}

void heap_unhold(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	if (block->state == BLOCK_HELD && block->pin != BLOCK_USER_REGISTERED)
		cache_put(block, hp_now_coarse_ns());
	hp_unlock(HP_LOCK_heap);
}

void heap_set_reclaim_target(size_t bytes)
{
	hp_lock(HP_LOCK_heap);
	expiry_set_target(bytes);
	hp_unlock(HP_LOCK_heap);
}

void heap_each(void (*call)(struct block *block, void *arg), void *arg)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	for (struct block *at = span_first(); at != NULL; at = span_next(at))
		if (at->state > BLOCK_GONE)
			call(at, arg);
	hp_unlock(HP_LOCK_heap);
}
