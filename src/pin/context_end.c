/*
 * context_end.c - the pins of a context that ends, which ends its registrations, also the
 * program's.
 *
 * During the driver's call the outcome is unknown.  Until then the block is BLOCK_PINNING with an
 * owner; no other block in that state has one.  Giving its pages back too early would corrupt data
 * if the context still exists.
 */
#include "pin/context_end.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/pin_state.h"
#include "pin/background.h"
#include "pin/pin.h"
#include "pin/user_registration.h"

static void note_ending(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNED && block->pin_owner == *(uintptr_t *)arg &&
	    hp_keeps(context_end_undecided))
		heap_set_pin_locked(block, BLOCK_PINNING);
}

static void note_still_pinned(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNING && block->pin_owner == *(uintptr_t *)arg)
		heap_set_pin_locked(block, BLOCK_PINNED);
}

static void note_gone(struct block *block, void *arg)
{
	if (block->pin == BLOCK_PINNING && block->pin_owner == *(uintptr_t *)arg)
		pin_lost(block);
}

void pin_context_ending(uintptr_t owner)
{
	if (owner == 0)
		return;
	/* No thread pins a block in that context in the background any more. */
	background_forget(owner);
	hp_lock(HP_LOCK_pin);
	heap_each(note_ending, &owner);
	user_registrations_ending(owner);
	hp_unlock(HP_LOCK_pin);
}

void pin_context_ended(uintptr_t owner, bool gone)
{
	hp_lock(HP_LOCK_pin);
	if (owner != 0) {
		heap_each(gone ? note_gone : note_still_pinned, &owner);
		user_registrations_ended(owner, gone);
	}
	hp_unlock(HP_LOCK_pin);
}
