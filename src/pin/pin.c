/*
 * pin.c - the pin state of blocks, and the budget.
 *
 * BLOCK_PAGEABLE becomes BLOCK_PINNING and then BLOCK_PINNED, and goes back by way of
 * BLOCK_PINNING.  A state changes under the locks pin and heap.  Neither is held during a driver
 * call; other threads treat a BLOCK_PINNING block as pageable.
 */
#include "pin/pin.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "base/users.h"
#include "heap/cache.h"
#include "heap/pin_state.h"
#include "heap/map.h"
#include "heap/span.h"
#include "pin/cost.h"
#include "pin/registration.h"

#include <assert.h>

/* After so many refusals in a row for reasons of the process itself, nothing is pinned any more. */
#define DENIALS_MOST 3

/*
 * How long a block in use waits to be unpinned while other threads copy; and how long after a wait
 * that was in vain, because the same copy may still be there.
 */
#define COPIES_NS    1000000000u
#define STUCK_NS     10000000u

struct hp_users pin_copies;

enum { PINNING_OFF, PINNING_ON, PINNING_ENDED };

/* Any thread. */
static _Atomic int pinning; /* one of the above */
static _Atomic bool under_pressure;
static _Atomic int holds, queries; /* pin_hold(), pin_query_begin() without their ends */

_Atomic(pin_told_fn) pin_told;

/* Changed under the lock pin, unless a comment says otherwise; any thread reads the sums. */
static _Atomic uint64_t budget;
static _Atomic uint64_t ceiling; /* the budget, or less while the driver is out of memory */
static uint64_t lean_until_ns;   /* by hp_now_coarse_ns(); 0: the budget is whole */
static unsigned refusals, denials, shortages;  /* in a row */
static uint64_t refused_ns;                    /* the last time, by hp_now_coarse_ns() */
static _Atomic size_t pinned_now, pinned_most; /* of blocks, in bytes */
static size_t stuck;               /* the part of pinned_now that the driver would not unpin */
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

/*
 * Counts first; the caller then reads the state of blocks.  pin_reserve() does both in the other
 * order.
 */
static void count_first(_Atomic int *count)
{
	atomic_fetch_add(count, 1);
	atomic_thread_fence(memory_order_seq_cst);
}

void pin_hold(void)
{
	count_first(&holds);
}

void pin_release(void)
{
	atomic_fetch_sub(&holds, 1);
}

void pin_query_begin(void)
{
	hp_uncancellable_begin();
	count_first(&queries);
}

void pin_query_end(void)
{
	atomic_fetch_sub(&queries, 1);
	hp_uncancellable_end();
}

bool pin_is_held(void)
{
	return atomic_load(&holds) != 0 && hp_keeps(capture_pins_nothing);
}

bool pin_allowed(void)
{
	return atomic_load_explicit(&pinning, memory_order_relaxed) == PINNING_ON &&
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

/*
 * True if a thread asks the driver about pageable memory, clears pages of the block, or lets the
 * driver read them.
 */
static bool must_stay_pageable(const struct block *block)
{
	return (atomic_load(&queries) != 0 && hp_keeps(query_blocks_pinning)) ||
	       atomic_load(&block->clearing) || atomic_load(&block->driver_reads) != 0;
}

/*
 * A thread that relies on a pageable block notes that first and then reads the block's state: it
 * begins a capture or a query, clears pages, or lets the driver read them.  This function does both
 * in the other order, so at least one of the two sees the other.
 */
bool pin_reserve(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	bool refused = refusals != 0 || lean_until_ns != 0;
	bool may = !refused || may_ask_again(hp_now_coarse_ns());
	size_t room = may ? heap_pin_begin(block) : 0;
	/* Read once, because staging memory is given back without the lock. */
	size_t left = pin_room_left();
	bool fits = room <= left || !hp_keeps(pin_budget);
	bool begun = room != 0 && fits && pin_allowed() && !must_stay_pageable(block);
	if (begun) {
		pinned_now += room;
		if (pinned_now > pinned_most)
			pinned_most = pinned_now;
	} else if (room != 0) {
		heap_set_pin(block, BLOCK_PAGEABLE);
	}
	if (!fits) {
		hp_count(pins_over_budget);
		if (room + staging_now <= ceiling)
			heap_set_reclaim_target(room - left);
	}
	hp_unlock(HP_LOCK_pin);
	return begun;
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

/* Ends pin_reserve().  Pages that the driver still holds stay in the budget. */
static void unreserve(struct block *block, int error, enum block_pin then)
{
	assert(hp_lock_held(HP_LOCK_pin));
	if (error == 0)
		pinned_now -= block->room;
	else
		stuck += block->room;
	heap_set_pin(block, error == 0 ? then : BLOCK_USER_REGISTERED);
}

void pin_give_back(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	block->copied_bytes = 0;
	unreserve(block, 0, BLOCK_PAGEABLE);
	hp_unlock(HP_LOCK_pin);
}

void pin_tell(const struct block *block, bool begins, uint64_t ns)
{
	pin_told_fn tell = atomic_load_explicit(&pin_told, memory_order_acquire);

	if (tell != NULL)
		tell(atomic_load_explicit(&block->site, memory_order_relaxed), begins,
		     atomic_load_explicit(&block->size, memory_order_relaxed), ns);
}

uintptr_t pin_ending(struct block *block)
{
	uintptr_t owner = block->pin_owner;

	assert(hp_lock_held(HP_LOCK_pin));
	block->pin_owner = 0;
	heap_set_pin(block, BLOCK_PINNING);
	return owner;
}

void pin_ended(struct block *block, int error, enum block_pin then)
{
	block->copied_bytes = 0;
	unreserve(block, error, then);
}

void pin_lost(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_pin));
	pinned_now -= block->room;
	block->pin_owner = 0;
	block->copied_bytes = 0;
	heap_set_pin_locked(block, BLOCK_PAGEABLE);
}

/* Waits until no thread of ours changes the block's pin.  Takes the lock pin. */
static void lock_settled(struct block *block)
{
	hp_lock(HP_LOCK_pin);
	while (block->pin == BLOCK_PINNING) {
		hp_unlock(HP_LOCK_pin);
		/* heap_set_pin() wakes this thread. */
		hp_wait_while(&block->pin, BLOCK_PINNING, UINT64_MAX);
		hp_lock(HP_LOCK_pin);
	}
}

/* True if the driver may know a registration of ours in the block. */
static bool is_registered(const struct block *block)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

	return pin == BLOCK_PINNED || pin == BLOCK_PINNING;
}

void pin_stop_copies(bool in_copy)
{
	static _Atomic bool in_vain;

	hp_uncancellable_begin();
	uint64_t most_ns = atomic_load(&in_vain) ? STUCK_NS : COPIES_NS;
	atomic_store(&in_vain, !hp_users_close_alone(&pin_copies, in_copy, most_ns));
}

void pin_resume_copies(void)
{
	hp_users_open(&pin_copies);
	hp_uncancellable_end();
}

/*
 * No thread keeps others out of copies while it waits for BLOCK_PINNING to end: that may take as
 * long as the end of a context.
 */
bool pin_change_begin(struct block *block, bool in_copy)
{
	for (;;) {
		lock_settled(block);
		if (block->pin != BLOCK_PINNED || !hp_keeps(unpinned_between_copies))
			return false;
		hp_unlock(HP_LOCK_pin);
		pin_stop_copies(in_copy);
		hp_lock(HP_LOCK_pin);
		if (block->pin != BLOCK_PINNING)
			return true;
		hp_unlock(HP_LOCK_pin);
		pin_resume_copies();
	}
}

void pin_change_end(bool alone)
{
	hp_unlock(HP_LOCK_pin);
	if (alone)
		pin_resume_copies();
}

void pin_take_off(struct block *block, enum block_pin then)
{
	uintptr_t owner = pin_ending(block);

	hp_unlock(HP_LOCK_pin);
	int error = registration_end(block, owner);
	hp_count(unpins);
	hp_lock(HP_LOCK_pin);
	pin_ended(block, error, then);
}

void pin_begun(struct block *block, uintptr_t owner)
{
	hp_lock(HP_LOCK_pin);
	refusals = denials = shortages = 0;
	block->pin_owner = owner;
	block->copied_bytes = 0;
	heap_set_pin(block, BLOCK_PINNED);
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

void pin_refused(struct block *block, int result)
{
	bool out_of_memory = result == CUDA_ERROR_OUT_OF_MEMORY;
	bool denied = result == CUDA_ERROR_NOT_PERMITTED || result == CUDA_ERROR_NOT_SUPPORTED;

	hp_lock(HP_LOCK_pin);
	unreserve(block, 0, out_of_memory ? BLOCK_PAGEABLE : BLOCK_REFUSED);
	refusals++;
	denials = denied ? denials + 1 : 0;
	bool enough = denials >= DENIALS_MOST;
	refused_ns = hp_now_coarse_ns();
	if (out_of_memory)
		be_lean(pinned_now + staging_now + block->room / 2);
	hp_unlock(HP_LOCK_pin);
	if (enough)
		pin_stop("the driver refused too often");
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

static void forget_any(struct block *block, void *arg)
{
	(void)arg;
	if (block->pin == BLOCK_PAGEABLE || block->pin == BLOCK_REFUSED)
		return;
	block->pin_owner = 0;
	block->user_registrations = 0;
	heap_set_pin_locked(block, BLOCK_PAGEABLE);
	if (block->state == BLOCK_HELD)
		cache_put(block, hp_now_coarse_ns());
}

void pin_forget_all(bool registered)
{
	assert(hp_lock_held(HP_LOCK_pin));
	if (pinned_most == 0 && !registered)
		return;
	heap_each(forget_any, NULL);
	pinned_now = stuck = 0;
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
