/*
 * expiry.c - bounds of the free cache in bytes and in time, and when pins of cached blocks end.
 *
 * Unpinned blocks expire by age, down to a floor, and at once above the bound.  Pinned blocks only
 * become due; a thread that may call the driver unpins them.
 */
#include "heap/expiry.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/lru.h"
#include "heap/slots.h"

#include <assert.h>

/* One part in so many of the bound is given back in addition to what must go back. */
#define SLACK_PART 16

_Atomic uint64_t expiry_due_at = UINT64_MAX;

/* Under the lock heap.  Of BLOCK_CACHED: */
static struct lru loose, pinned;
static size_t target_bytes, bound, lowest;

static void set_due(uint64_t when)
{
	atomic_store(&expiry_due_at, when);
}

void expiry_set_bound(size_t most, size_t floor)
{
	assert(hp_lock_held(HP_LOCK_heap));
	bound = most;
	lowest = floor;
	if ((floor == 0 && (pinned.bytes != 0 || slots_oldest(true) != UINT64_MAX)) ||
	    pinned.bytes > bound)
		set_due(0);
}

size_t expiry_floor(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return lowest;
}

size_t expiry_bound(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bound;
}

size_t expiry_unpinned(void)
{
	return loose.bytes + slots_bytes();
}

size_t expiry_room(void)
{
	return hp_above(bound, expiry_unpinned());
}

size_t expiry_over(void)
{
	return hp_above(expiry_unpinned(), bound);
}

bool expiry_is_pinned_over(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return pinned.bytes > bound;
}

/* Threads read the coarse clock at different times: a date in the future is not old. */
static bool is_old(const struct block *block, uint64_t now)
{
	return lowest == 0 || (now > block->freed_ns && now - block->freed_ns >= EXPIRY_NS);
}

/* Unpinned bytes above the floor; blocks with a slot count first. */
static size_t above_floor(void)
{
	return hp_above(expiry_unpinned(), lowest);
}

static void due_by(uint64_t when)
{
	uint64_t before = atomic_load(&expiry_due_at);

	while (when < before && !atomic_compare_exchange_weak(&expiry_due_at, &before, when))
		continue;
}

/*
 * A thread that parks a block looks at expiry_due_at afterwards, so one of the two sees the other.
 */
static void set_none_due(void)
{
	set_due(UINT64_MAX);

	uint64_t parked = slots_oldest(true);
	if (parked != UINT64_MAX)
		due_by(parked + EXPIRY_NS);
}

void expiry_note_parked(void)
{
	if (atomic_load(&expiry_due_at) == UINT64_MAX)
		due_by(hp_now_coarse_ns() + EXPIRY_NS);
}

/* Notes a cached pinned block that was freed at `freed_ns`. */
static void note_pinned(uint64_t freed_ns)
{
	due_by(lowest == 0 || pinned.bytes > bound ? 0 : freed_ns + EXPIRY_NS);
}

static bool is_loose(const struct block *block)
{
	return !block->kept_pinned || !hp_keeps(pinned_pages_stay);
}

static struct lru *lru_of(const struct block *block)
{
	return is_loose(block) ? &loose : &pinned;
}

void expiry_add(struct block *block)
{
	enum block_pin pin = block_pin(block);

	/* The word may change while the block is in a list. */
	block->kept_pinned = pin != BLOCK_PAGEABLE && pin != BLOCK_ALTERED;
	lru_add(lru_of(block), block);
	if (!is_loose(block))
		note_pinned(block->freed_ns);
}

void expiry_remove(struct block *block)
{
	lru_remove(lru_of(block), block);
	if (!is_loose(block) && pinned.bytes == 0)
		set_none_due();
}

uint64_t expiry_at(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (expiry_unpinned() == 0)
		return UINT64_MAX;

	/* What may stay is looked at now and then, since it may not stay forever. */
	uint64_t due = now + EXPIRY_NS, parked = slots_oldest(false);
	if (loose.oldest != NULL && above_floor() != 0)
		due = loose.oldest->freed_ns + EXPIRY_NS;
	/* A block in use that has a slot may be parked at any moment. */
	if (parked == UINT64_MAX && slots_bytes() != 0)
		parked = now;
	if (parked != UINT64_MAX && parked + EXPIRY_SEEN_NS < due)
		due = parked + EXPIRY_SEEN_NS;
	return lowest == 0 ? 0 : due;
}

/* Returns the oldest block that is BLOCK_PINNED, and not changing. */
static struct block *oldest_pinned(void)
{
	struct block *block = pinned.oldest;

	while (block != NULL && block_pin(block) != BLOCK_PINNED)
		block = block->newer;
	return block;
}

size_t expiry_excess(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return expiry_over() > 0 ? expiry_over() + bound / SLACK_PART : 0;
}

struct block *expiry_next(uint64_t now, size_t least, size_t most, size_t *ret_bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *block = loose.oldest;
	if (block == NULL)
		return NULL;

	size_t old = is_old(block, now) ? above_floor() : 0;
	size_t bytes = hp_least(old, most) > least ? hp_least(old, most) : least;

	/* No allocation will ever get that block. */
	if (block_is_altered(block))
		bytes = block->room;
	*ret_bytes = bytes;
	return bytes != 0 ? block : NULL;
}

uint64_t expiry_due_before(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return lowest == 0 || target_bytes > 0 ? UINT64_MAX : now - EXPIRY_NS;
}

struct block *expiry_next_due(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *block = oldest_pinned();

	if (block == NULL) {
		/* Blocks that are changing are noted when that is done. */
		target_bytes = 0;
		set_none_due();
		return NULL;
	}
	if (target_bytes == 0 && pinned.bytes <= bound && !is_old(block, now)) {
		set_none_due();
		due_by(block->freed_ns + EXPIRY_NS);
		return NULL;
	}
	target_bytes -= block->room < target_bytes ? block->room : target_bytes;
	return block;
}

void expiry_set_target(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (pinned.bytes == 0 && slots_oldest(true) == UINT64_MAX)
		return;
	if (bytes > target_bytes)
		target_bytes = bytes;
	set_due(0);
}

void expiry_note_pin(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	bool is_pinned = block_pin(block) == BLOCK_PINNED;

	if (block->state == BLOCK_CACHED) {
		lru_remove(lru_of(block), block);
		expiry_add(block);
	} else if (is_pinned && slots_oldest(true) != UINT64_MAX) {
		due_by(slots_oldest(true) + EXPIRY_NS);
	}
	if (!is_pinned && pinned.bytes == 0)
		set_none_due();
}

size_t expiry_bytes(void)
{
	return loose.bytes + pinned.bytes;
}
