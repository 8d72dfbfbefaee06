/*
 * inside.c - the heap's blocks as pin.c and its kind see them.
 */
#include "host/inside.h"
#include "base/lock.h"
#include "base/protections.h"
#include "host/keep.h"
#include "host/retire.h"
#include "host/span.h"

#include <assert.h>

size_t heap_pin_begin(struct block *block, size_t piece)
{
	size_t room = 0;

	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	if (block->state == BLOCK_LIVE && block->pin == BLOCK_PAGEABLE) {
		room = block->room;
		block->piece = piece != 0 ? piece : room;
		keep_set_pin(block, BLOCK_PINNING);
	}
	/* Who clears or is taken in says so first and looks then: one of us sees the other. */
	if (room != 0 && (atomic_load(&block->clearing) || atomic_load(&block->taken_in) != 0)) {
		keep_set_pin(block, BLOCK_PAGEABLE);
		room = 0;
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
			keep_set_pin(block,
				     hp_keeps(altered_for_good) ? BLOCK_REFUSED : BLOCK_PAGEABLE);
	}
	hp_unlock(HP_LOCK_heap);
	return live;
}

void heap_set_pin(struct block *block, enum block_pin pin)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	keep_set_pin(block, pin);
	hp_unlock(HP_LOCK_heap);
}

struct block *heap_take_due(void)
{
	hp_lock(HP_LOCK_heap);
	struct block *block = keep_take_due(keep_now());
	hp_unlock(HP_LOCK_heap);
	return block;
}

void heap_return(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	bool bare = block->pin == BLOCK_PAGEABLE || block->pin == BLOCK_REFUSED;
	if (block->pin == BLOCK_FOREIGN)
		atomic_store_explicit(&block->state, BLOCK_HELD, memory_order_release);
	else if (!bare)
		keep_put(block, block->freed_ns);
	hp_unlock(HP_LOCK_heap);
	if (bare) {
		block->next = NULL;
		retire_list(block);
	}
}

void heap_unhold(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	if (block->state == BLOCK_HELD && block->pin != BLOCK_FOREIGN)
		keep_put(block, keep_now());
	hp_unlock(HP_LOCK_heap);
}

void heap_hurry(size_t bytes)
{
	hp_lock(HP_LOCK_heap);
	keep_hurry(bytes);
	hp_unlock(HP_LOCK_heap);
}

void heap_each(void (*visit)(struct block *block, void *arg), void *arg)
{
	assert(hp_lock_held(HP_LOCK_pin));
	hp_lock(HP_LOCK_heap);
	for (struct block *at = span_first(); at != NULL; at = span_next(at))
		if (at->state > BLOCK_GONE)
			visit(at, arg);
	hp_unlock(HP_LOCK_heap);
}
