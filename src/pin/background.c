/*
 * background.c - the background pin queue.
 *
 * Many small copies may make it worth pinning a block.  No copy waits for that pin: all of them run
 * pageable until the housekeeper has pinned the block.  The queue does not keep a block alive.  The
 * housekeeper checks whether the descriptor still describes a block in use that is worth pinning.
 */
#include "pin/background.h"
#include "base/clock.h"
#include "base/lock.h"

#include <limits.h>

#define WAITING_MOST 32

static _Atomic bool possible; /* some thread calls pin_in_background(); any thread reads it */

/* Under the lock pin; any thread reads the count. */
static struct background_entry waiting[WAITING_MOST];
static _Atomic unsigned count;
static uintptr_t busy_with; /* the context that background_next() lent out */

static _Atomic uint32_t returned; /* number of calls of background_done() */

void pin_set_background(bool is_there)
{
	atomic_store(&possible, is_there);
}

bool background_add(struct block *block, uintptr_t context)
{
	bool there = false;

	if (!atomic_load_explicit(&possible, memory_order_relaxed))
		return false;
	hp_lock(HP_LOCK_pin);
	for (unsigned i = 0; i < count && !there; i++)
		there = waiting[i].block == block;
	if (!there && count < WAITING_MOST)
		waiting[count++] = (struct background_entry){ block, context };
	hp_unlock(HP_LOCK_pin);
	return true;
}

bool pin_has_queued(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed) != 0;
}

bool background_next(struct background_entry *ret)
{
	hp_lock(HP_LOCK_pin);
	bool found = count != 0;
	if (found) {
		*ret = waiting[0];
		count--;
		for (unsigned i = 0; i < count; i++)
			waiting[i] = waiting[i + 1];
		busy_with = ret->context;
	}
	hp_unlock(HP_LOCK_pin);
	return found;
}

void background_done(void)
{
	hp_lock(HP_LOCK_pin);
	busy_with = 0;
	atomic_fetch_add(&returned, 1);
	hp_unlock(HP_LOCK_pin);
	hp_wake(&returned, INT_MAX);
}

void background_forget(uintptr_t context)
{
	hp_lock(HP_LOCK_pin);
	unsigned kept = 0;
	for (unsigned i = 0; i < count; i++)
		if (waiting[i].context != context)
			waiting[kept++] = waiting[i];
	count = kept;
	while (busy_with == context) {
		uint32_t seen = atomic_load(&returned);

		hp_unlock(HP_LOCK_pin);
		/* background_done() wakes this thread. */
		hp_wait_until(&returned, seen, UINT64_MAX);
		hp_lock(HP_LOCK_pin);
	}
	hp_unlock(HP_LOCK_pin);
}

void background_after_fork_child(void)
{
	count = 0;
	busy_with = 0;
	atomic_store(&possible, false);
}
