/*
 * ending.c - contexts that take what was pinned in them along when they end.
 *
 * While the driver is at it that is in doubt: BLOCK_PINNING with an owner, which no other block of
 * that state has.  Pages given back too early would be silent corruption should the context live
 * on.
 */
#include "host/pin.h"
#include "base/lock.h"
#include "base/protections.h"
#include "host/behind.h"
#include "host/inside.h"
#include "host/keep.h"

static void doubt(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNED && block->pin_owner == *(uintptr_t *)arg &&
	    hp_keeps(ending_is_in_doubt))
		keep_set_pin(block, BLOCK_PINNING);
}

static void believe_pinned(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNING && block->pin_owner == *(uintptr_t *)arg)
		keep_set_pin(block, BLOCK_PINNED);
}

static void believe_gone(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNING && block->pin_owner == *(uintptr_t *)arg)
		pin_lost(block);
}

void pin_context_ending(uintptr_t owner)
{
	if (owner == 0)
		return;
	/* From here on nothing is pinned in the background there. */
	behind_forget(owner);
	hp_lock(HP_LOCK_pin);
	heap_each(doubt, &owner);
	hp_unlock(HP_LOCK_pin);
}

void pin_context_ended(uintptr_t owner, bool gone)
{
	hp_lock(HP_LOCK_pin);
	if (owner != 0)
		heap_each(gone ? believe_gone : believe_pinned, &owner);
	hp_unlock(HP_LOCK_pin);
}
