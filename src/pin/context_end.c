/*
 * context_end.c - contexts that take their registrations along when they end.
 *
 * During the driver call the outcome is unknown: such a block is BLOCK_PINNING with an owner,
 * which no other block of that state has.  Giving its pages back too early would corrupt data if
 * the context lives on.
 */
#include "pin/context_end.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/expiry.h"
#include "heap/pin_state.h"
#include "pin/background.h"
#include "pin/pin.h"

static void doubt(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNED && block->pin_owner == *(uintptr_t *)arg &&
	    hp_keeps(context_end_undecided))
		expiry_set_pin(block, BLOCK_PINNING);
}

static void believe_pinned(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNING && block->pin_owner == *(uintptr_t *)arg)
		expiry_set_pin(block, BLOCK_PINNED);
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
	/* From here on nothing is pinned in that context in the background. */
	background_forget(owner);
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
