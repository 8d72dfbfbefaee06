/*
 * pin.c - whether blocks may be pinned, and the budget.
 */
#include "pin/pin.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/pin_state.h"
#include "heap/map.h"
#include "heap/span.h"
#include "pin/cost.h"
#include "real/real.h"

#include <assert.h>

/* After so many refusals in a row for reasons of the process itself, nothing is pinned any more. */
#define DENIALS_MOST 3

enum { PINNING_OFF, PINNING_ON, PINNING_ENDED };

/* Any thread. */
static _Atomic int pinning; /* one of the above */
static _Atomic bool under_pressure;
static _Atomic int holds; /* calls of pin_hold() without their ends */

static _Atomic bool queue_is_due;
static void (*_Atomic wake)(void); /* pin_set_queue() */

_Atomic(pin_told_fn) pin_told;

/* Changed under the lock pin, unless a comment says otherwise; any thread reads the sums. */
static _Atomic uint64_t budget;
static _Atomic uint64_t ceiling; /* the budget, or less while the driver is out of memory */
static uint64_t lean_until_ns;   /* by hp_now_coarse_ns(); 0: the budget is whole */
static unsigned refusals, denials, shortages;  /* in a row */
static uint64_t refused_ns;                    /* the last time, by hp_now_coarse_ns() */
static _Atomic size_t pinned_now, pinned_most; /* of blocks, in bytes */
static _Atomic size_t staging_now; /* staging memory, pinned or soon; any thread reduces it */

void pin_start(uint64_t most)
{
	hp_lock(HP_LOCK_pin);
	budget = most;
	atomic_store(&ceiling, most);
	hp_unlock(HP_LOCK_pin);

	int before = atomic_load(&pinning);
	if (before != PINNING_ENDED)
		atomic_compare_exchange_strong(&pinning, &before,
					       most != 0 ? PINNING_ON : PINNING_OFF);
}

uint64_t pin_budget(void)
{
	return atomic_load_explicit(&budget, memory_order_relaxed);
}

void pin_stop(const char *why)
{
	if (atomic_exchange(&pinning, PINNING_ENDED) == PINNING_ON)
		hp_debug("nothing more is pinned: %s", why);
}

/* Counts first; the caller then looks at words.  A thread that pins does both in the other order.
 */
void pin_hold(void)
{
	atomic_fetch_add(&holds, 1);
}

void pin_release(void)
{
	atomic_fetch_sub(&holds, 1);
}

bool pin_is_held(void)
{
	return atomic_load(&holds) != 0 && hp_keeps(capture_pins_nothing);
}

bool pin_allowed(void)
{
	return atomic_load(&pinning) == PINNING_ON &&
	       !atomic_load_explicit(&under_pressure, memory_order_relaxed) && !pin_is_held();
}

size_t pin_room_left(void)
{
	uint64_t most = atomic_load_explicit(&ceiling, memory_order_relaxed);
	size_t now = atomic_load_explicit(&pinned_now, memory_order_relaxed) +
		     atomic_load_explicit(&staging_now, memory_order_relaxed);

	return now < most ? most - now : 0;
}

/* After a refusal.  True if the driver may be asked again.  Requires the lock pin. */
static bool may_ask_again(uint64_t now_ns)
{
	if (now_ns >= lean_until_ns) {
		atomic_store(&ceiling, budget);
		lean_until_ns = 0;
	}
	return refusals == 0 || now_ns - refused_ns >= cost_retry_ns(refusals);
}

bool pin_reserve(size_t room)
{
	assert(hp_lock_held(HP_LOCK_pin));
	bool refused = refusals != 0 || lean_until_ns != 0;
	if (!pin_allowed() || (refused && !may_ask_again(hp_now_coarse_ns())))
		return false;
	/* Read once, because staging memory is given back without the lock. */
	size_t left = pin_room_left();
	if (room <= left || !hp_keeps(pin_budget)) {
		pinned_now += room;
		if (pinned_now > pinned_most)
			pinned_most = pinned_now;
		return true;
	}
	hp_count(pins_over_budget);
	if (room + staging_now <= ceiling)
		heap_set_reclaim_target(room - left);
	return false;
}

bool pin_take_staging(size_t bytes)
{
	hp_lock(HP_LOCK_pin);
	size_t left = pin_room_left();
	bool may = staging_now + bytes <= budget / 2, fits = bytes <= left;
	bool taken = (may && fits) || !hp_keeps(staging_budget);

	if (taken)
		staging_now += bytes;
	else if (may)
		heap_set_reclaim_target(bytes - left);
	hp_unlock(HP_LOCK_pin);
	return taken;
}

void pin_give_staging(size_t bytes)
{
	atomic_fetch_sub(&staging_now, bytes);
}

void pin_room_ended(size_t room, bool back)
{
	hp_lock(HP_LOCK_pin);
	if (back)
		pinned_now -= room;
	hp_unlock(HP_LOCK_pin);
}

void pin_tell(const struct block *block, bool begins, uint64_t ns)
{
	pin_told_fn tell = atomic_load_explicit(&pin_told, memory_order_acquire);

	if (tell != NULL)
		tell(atomic_load_explicit(&block->site, memory_order_relaxed), begins,
		     atomic_load_explicit(&block->size, memory_order_relaxed), ns);
}

void pin_accepted(void)
{
	hp_lock(HP_LOCK_pin);
	refusals = denials = shortages = 0;
	hp_unlock(HP_LOCK_pin);
}

/* The driver is out of memory: lowers the budget to `most` for a while.  Requires the lock pin. */
static void be_lean(uint64_t most)
{
	if (most < ceiling)
		atomic_store(&ceiling, most);
	lean_until_ns = hp_now_coarse_ns() + cost_lean_ns(++shortages);
}

void pin_be_lean(void)
{
	hp_lock(HP_LOCK_pin);
	be_lean(0);
	hp_unlock(HP_LOCK_pin);
}

void pin_refused(size_t room, int result)
{
	bool out_of_memory = result == CUDA_ERROR_OUT_OF_MEMORY;
	bool denied = result == CUDA_ERROR_NOT_PERMITTED || result == CUDA_ERROR_NOT_SUPPORTED;

	hp_lock(HP_LOCK_pin);
	refusals++;
	denials = denied ? denials + 1 : 0;
	bool enough = denials >= DENIALS_MOST;
	refused_ns = hp_now_coarse_ns();
	if (out_of_memory)
		be_lean(pinned_now + staging_now - room / 2);
	hp_unlock(HP_LOCK_pin);
	if (enough)
		pin_stop("the driver refused too often");
}

/* True if the driver may know a registration of ours in the block. */
static bool is_registered(const struct block *block)
{
	return (atomic_load(&block->word) & (WORD_PINNED | WORD_TAKEN)) != 0;
}

bool pin_covers_any(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address, end = range_end(address, bytes);

	for (struct block *block; (block = span_walk(&at, end)) != NULL;)
		if (is_registered(block))
			return true;
	return false;
}

bool pin_crosses(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address, end = range_end(address, bytes);

	for (struct block *block; (block = span_walk(&at, end)) != NULL;)
		if (is_registered(block) && !range_covers(block, address, bytes))
			return true;
	return false;
}

void pin_after_fork_child(void)
{
	pin_stop("this is the child of a fork");
	atomic_store(&holds, 0);
	atomic_store(&wake, NULL);
	atomic_store(&queue_is_due, false);
	hp_lock(HP_LOCK_pin);
	pinned_now = 0;
	hp_unlock(HP_LOCK_pin);
}

void pin_set_queue(void (*by)(void))
{
	atomic_store(&wake, by);
}

bool pin_has_thread(void)
{
	return atomic_load_explicit(&wake, memory_order_relaxed) != NULL;
}

bool pin_has_queued(void)
{
	return atomic_load(&queue_is_due);
}

void pin_set_queued(bool due)
{
	void (*by)(void) = atomic_load(&wake);

	if (!atomic_exchange(&queue_is_due, due) && due && by != NULL)
		by();
}

void pin_set_pressure(bool pressure)
{
	atomic_store(&under_pressure, pressure);
}

void pin_stats(size_t *ret_now, size_t *ret_most)
{
	*ret_now = pinned_now;
	*ret_most = pinned_most;
}
