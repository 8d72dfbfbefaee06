/*
 * lapse.c - how long a freed block is kept: bounds in bytes and in time, and when a pin must end.
 *
 * What nothing pins goes by age, but for a floor, and at once where there is too much of it.  What
 * is pinned only becomes due: whoever may call the driver asks for it.
 */
#include "base/bounds.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/protections.h"
#include "host/ages.h"
#include "host/keep.h"
#include "host/kept.h"
#include "host/quick.h"

#include <assert.h>
#include <limits.h>

/* What is given back beyond what must be: one part of the bound in so many. */
#define SLACK_PART 16

_Atomic uint64_t keep_due_at = UINT64_MAX;

/* Under the lock heap.  Of BLOCK_KEPT: */
static struct ages loose, pinned;
static size_t hurry_bytes, bound;
static bool hasty;

uint64_t keep_now(void)
{
	return hp_now_coarse_ns();
}

void keep_set_bound(size_t total)
{
	assert(hp_lock_held(HP_LOCK_heap));
	bound = total;
}

size_t keep_bound(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bound;
}

size_t keep_spare(void)
{
	return hp_above(bound, loose.bytes + quick_bytes());
}

size_t keep_over(void)
{
	return hp_above(loose.bytes + quick_bytes(), bound);
}

/* Some clocks are read before others: the future is not old. */
static bool is_old(const struct block *block, uint64_t now)
{
	return hasty || (now > block->freed_ns && now - block->freed_ns >= KEEP_NS);
}

/* Loose bytes above what may always stay; what has a slot counts first. */
static size_t above_floor(void)
{
	return hp_above(loose.bytes + quick_bytes(), hasty ? 0 : KEEP_FLOOR);
}

bool keep_is_above_floor(void)
{
	return above_floor() > 0;
}

static void set_due(uint64_t when)
{
	atomic_store(&keep_due_at, when);
}

static void due_by(uint64_t when)
{
	uint64_t before = atomic_load(&keep_due_at);

	while (when < before && !atomic_compare_exchange_weak(&keep_due_at, &before, when))
		continue;
}

/* Whoever parks a block looks here afterwards: so nobody misses the other. */
static void set_none_due(void)
{
	set_due(UINT64_MAX);

	uint64_t parked = quick_oldest(true);
	if (parked != UINT64_MAX)
		due_by(parked + KEEP_NS);
}

void keep_note_parked(void)
{
	if (atomic_load(&keep_due_at) == UINT64_MAX)
		due_by(keep_now() + KEEP_NS);
}

/* A pinned block freed at `freed_ns` is among those kept. */
static void note_pinned(uint64_t freed_ns)
{
	due_by(hasty || pinned.bytes > bound ? 0 : freed_ns + KEEP_NS);
}

static bool is_loose(const struct block *block)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

	return pin == BLOCK_PAGEABLE || pin == BLOCK_REFUSED || !hp_keeps(pinned_pages_stay);
}

static struct ages *ages_of(const struct block *block)
{
	return is_loose(block) ? &loose : &pinned;
}

void lapse_add(struct block *block)
{
	ages_add(ages_of(block), block);
	if (!is_loose(block))
		note_pinned(block->freed_ns);
}

void lapse_remove(struct block *block)
{
	ages_remove(ages_of(block), block);
	if (!is_loose(block) && pinned.bytes == 0)
		set_none_due();
}

struct block *keep_take_expired(uint64_t now, size_t bytes_most)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *list = NULL, *block;
	size_t taken = 0;

	/* A little more than must be, or every free() from now on would cost a system call. */
	size_t over = keep_over() > 0 ? keep_over() + bound / SLACK_PART : 0;

	while ((taken < bytes_most || taken < over) && (block = loose.oldest) != NULL) {
		size_t wanted = is_old(block, now) ? above_floor() : 0;

		if (wanted > hp_above(bytes_most, taken))
			wanted = hp_above(bytes_most, taken);
		if (wanted < hp_above(over, taken))
			wanted = hp_above(over, taken);
		/* Nobody will ever get that one. */
		if (block->altered)
			wanted = block->room;
		if (wanted == 0)
			break;
		block = kept_take_upper(block, wanted);
		taken += block->room;
		block->next = list;
		list = block;
	}
	return list;
}

uint64_t keep_next_expiry(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (above_floor() == 0)
		return UINT64_MAX;

	uint64_t due = UINT64_MAX, parked = quick_oldest(false);
	if (loose.oldest != NULL)
		due = loose.oldest->freed_ns + KEEP_NS;
	/* What is in use and has a slot may be parked any moment. */
	if (parked == UINT64_MAX && quick_bytes() != 0)
		parked = now;
	if (parked != UINT64_MAX && parked + KEEP_SEEN_NS < due)
		due = parked + KEEP_SEEN_NS;
	return hasty ? 0 : due;
}

void keep_set_hasty(bool is_hasty)
{
	assert(hp_lock_held(HP_LOCK_heap));
	hasty = is_hasty;
	if (hasty && (pinned.bytes != 0 || quick_oldest(true) != UINT64_MAX))
		set_due(0);
}

/* The first of all that are BLOCK_PINNED, not just changing. */
static struct block *oldest_pinned(void)
{
	struct block *block = pinned.oldest;

	while (block != NULL && block->pin != BLOCK_PINNED)
		block = block->newer;
	return block;
}

struct block *keep_take_due(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	bool at_once = hasty || hurry_bytes > 0;

	keep_put_all(quick_drain(QUICK_PINNED, at_once ? UINT64_MAX : now - KEEP_NS, now));

	struct block *block = oldest_pinned();
	if (block == NULL) {
		/* Those that are just changing are noted when that is over. */
		hurry_bytes = 0;
		set_none_due();
		return NULL;
	}
	if (hurry_bytes == 0 && pinned.bytes <= bound && !is_old(block, now)) {
		set_none_due();
		due_by(block->freed_ns + KEEP_NS);
		return NULL;
	}
	hurry_bytes -= block->room < hurry_bytes ? block->room : hurry_bytes;
	kept_detach(block);
	return block;
}

void keep_hurry(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (pinned.bytes == 0 && quick_oldest(true) == UINT64_MAX)
		return;
	if (bytes > hurry_bytes)
		hurry_bytes = bytes;
	set_due(0);
}

void keep_set_pin(struct block *block, enum block_pin pin)
{
	assert(hp_lock_held(HP_LOCK_heap));
	bool kept = block->state == BLOCK_KEPT;

	if (pin == BLOCK_PAGEABLE && block->altered && hp_keeps(altered_for_good))
		pin = BLOCK_REFUSED;
	if (kept)
		ages_remove(ages_of(block), block);
	bool settled = atomic_exchange(&block->pin, pin) == BLOCK_PINNING && pin != BLOCK_PINNING;
	if (settled)
		hp_wake(&block->pin, INT_MAX);
	if (kept) {
		lapse_add(block);
	} else if (!is_loose(block) && quick_oldest(true) != UINT64_MAX) {
		due_by(quick_oldest(true) + KEEP_NS);
	}
	if (is_loose(block) && pinned.bytes == 0)
		set_none_due();
}

size_t keep_bytes(void)
{
	return loose.bytes + pinned.bytes;
}

int lapse_check(size_t *ret_count)
{
	bool may_be_due = false;

	*ret_count = 0;
	if (!ages_hold(&loose, ret_count) || !ages_hold(&pinned, ret_count))
		return __LINE__;
	for (struct block *at = loose.oldest; at != NULL; at = at->newer)
		if (!is_loose(at))
			return __LINE__;
	for (struct block *at = pinned.oldest; at != NULL; at = at->newer) {
		if (is_loose(at) || at->pin == BLOCK_FOREIGN)
			return __LINE__;
		may_be_due = may_be_due || at->pin == BLOCK_PINNED;
	}
	if ((may_be_due || quick_oldest(true) != UINT64_MAX) && keep_due_at == UINT64_MAX)
		return __LINE__;
	return 0;
}
