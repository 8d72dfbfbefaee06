/*
 * behind.c - pinning in the background.
 *
 * Where many small copies have made a block hot, none of them shall wait while it is registered:
 * they run pageable until a thread of ours is done.  A block that waits is not held in any way.
 * Whether it is in use still, pageable and worth it is asked when its turn comes, of the block that
 * its struct stands for by then.
 */
#include "host/behind.h"
#include "base/clock.h"
#include "base/lock.h"
#include "host/inside.h"
#include "host/pin.h"
#include "host/register.h"
#include "host/season.h"

#include <limits.h>

#define WAITING_MOST 32

static _Atomic bool possible;

/* Under the lock pin; the number is read by anybody. */
static struct waiting {
	struct block *block;
	uintptr_t context;
} waiting[WAITING_MOST];
static _Atomic unsigned count;
static uintptr_t busy_with; /* the context that is borrowed just now */

static _Atomic uint32_t returned; /* how often one has been given back */

void pin_set_background(bool is_there)
{
	atomic_store(&possible, is_there);
}

bool behind_possible(void)
{
	return atomic_load_explicit(&possible, memory_order_relaxed);
}

bool behind_add(struct block *block, uintptr_t context)
{
	bool there = false;

	hp_lock(HP_LOCK_pin);
	for (unsigned i = 0; i < count && !there; i++)
		there = waiting[i].block == block;
	if (!there && count < WAITING_MOST) {
		waiting[count++] = (struct waiting){ block, context };
		there = true;
	}
	hp_unlock(HP_LOCK_pin);
	return there;
}

bool pin_wants_pinning(void)
{
	return atomic_load_explicit(&count, memory_order_relaxed) != 0;
}

/* The one that has waited longest; its context cannot end until busy_with is 0 again. */
static bool next(struct waiting *ret)
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

static void done_with_it(void)
{
	hp_lock(HP_LOCK_pin);
	busy_with = 0;
	atomic_fetch_add(&returned, 1);
	hp_unlock(HP_LOCK_pin);
	hp_wake(&returned, INT_MAX);
}

/* What may not be pinned now is forgotten: its next copy brings it back. */
size_t pin_in_background(size_t bytes_most)
{
	struct waiting it;
	size_t bytes = 0;

	while (bytes < bytes_most && next(&it)) {
		if (pin_allowed() && season_still_worth(it.block, season_price(it.block)) &&
		    register_enter(it.context)) {
			if (pin_promote(it.block, it.context, 0))
				bytes += it.block->room;
			register_leave();
		}
		done_with_it();
	}
	return bytes;
}

void behind_forget(uintptr_t context)
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
		/* done_with_it() wakes. */
		hp_wait_until(&returned, seen, UINT64_MAX);
		hp_lock(HP_LOCK_pin);
	}
	hp_unlock(HP_LOCK_pin);
}

void behind_after_fork_child(void)
{
	count = 0;
	busy_with = 0;
	atomic_store(&possible, false);
}
