/*
 * keep.c - the cache of freed blocks: by size, and by age.
 *
 * A program that allocates, copies and frees in a loop shall pay for page faults and for pinning
 * once.  What nothing pins is joined with its neighbours and cut to measure, as in any malloc(),
 * and bounded in bytes and in time.  What is pinned stays whole, and stays until somebody who may
 * call the driver has unpinned it: its pages given back under a registration would be silent
 * corruption.
 */
#include "host/keep.h"
#include "base/lock.h"
#include "host/ages.h"
#include "host/bins.h"
#include "host/quick.h"
#include "host/span.h"

#include <assert.h>
#include <time.h>

#define HUGE_PAGE   ((size_t)2 << 20)

/* How many blocks of one bin are looked at before the next bin is. */
#define LOOK_AT     16

/* What is given back beyond what must be: one part of the bound in so many. */
#define SLACK_PART  16

/* A block is lengthened only where it is at least one part in so many of what is wanted. */
#define LONGER_PART 4

_Atomic uint64_t keep_due_at = UINT64_MAX;

/* Under the lock heap. */
static struct bins bins; /* of BLOCK_KEPT */
static struct ages loose, pinned;
static size_t hurry_bytes, bound;
static bool hasty;

uint64_t keep_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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

static size_t above(size_t bytes, size_t most)
{
	return bytes > most ? bytes - most : 0;
}

size_t keep_spare(void)
{
	return above(bound, loose.bytes + quick_bytes());
}

size_t keep_over(void)
{
	return above(loose.bytes + quick_bytes(), bound);
}

/* Some clocks are read before others: the future is not old. */
static bool is_old(const struct block *block, uint64_t now)
{
	return hasty || (now > block->freed_ns && now - block->freed_ns >= KEEP_NS);
}

/* Loose bytes above what may always stay; what has a slot counts first. */
static size_t above_floor(void)
{
	return above(loose.bytes + quick_bytes(), hasty ? 0 : KEEP_FLOOR);
}

bool keep_is_above_floor(void)
{
	return above_floor() > 0;
}

static bool is_loose(const struct block *block)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

	return pin == BLOCK_PAGEABLE || pin == BLOCK_REFUSED;
}

static struct ages *ages_of(const struct block *block)
{
	return is_loose(block) ? &loose : &pinned;
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

static void insert(struct block *block)
{
	bins_add(&bins, block);
	ages_add(ages_of(block), block);
	atomic_store_explicit(&block->state, BLOCK_KEPT, memory_order_release);
	if (!is_loose(block))
		note_pinned(block->freed_ns);
}

static void detach(struct block *block)
{
	bool was_pinned = !is_loose(block);

	bins_remove(&bins, block);
	ages_remove(ages_of(block), block);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
	if (was_pinned && pinned.bytes == 0)
		set_none_due();
}

/* May the kept `neighbour` and `block` become one? */
static bool may_join(const struct block *neighbour, const struct block *block)
{
	return neighbour != NULL && neighbour->state == BLOCK_KEPT &&
	       neighbour->pin == BLOCK_PAGEABLE && neighbour->huge == block->huge &&
	       !neighbour->altered;
}

/* Two neighbours become one, with the date of the larger. */
static struct block *join(struct block *a, struct block *b)
{
	struct block *large = a->room >= b->room ? a : b, *small = a->room >= b->room ? b : a;

	large->excess_ns += small->excess_ns;
	large->drawn_ns += small->drawn_ns;
	large->moved = large->moved || small->moved;
	span_join(large, small);
	return large;
}

void keep_put(struct block *block, uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	block->freed_ns = block->altered ? 0 : now;
	if (block->pin == BLOCK_PAGEABLE) {
		struct block *lower = map_at(block->base - 1);
		struct block *upper = map_at(block->base + block->room);

		if (may_join(lower, block)) {
			detach(lower);
			block = join(lower, block);
		}
		if (may_join(upper, block)) {
			detach(upper);
			block = join(block, upper);
		}
	}
	insert(block);
}

void keep_put_all(struct block *list)
{
	while (list != NULL) {
		struct block *block = list;

		list = block->next;
		keep_put(block, block->freed_ns);
	}
}

/*
 * Cuts a block that is BLOCK_LEAVING in two; what was paid for its copies is shared.  The smaller
 * part becomes a block of its own, because that costs as much as it is large.  False: not cut.
 */
static bool split(struct block *block, size_t room, struct block **ret_lower,
		  struct block **ret_upper)
{
	size_t whole = block->room;
	bool below = room < whole - room;
	struct block *part = below ? span_cut_below(block, room) : span_cut(block, room);

	if (part == NULL)
		return false;
	part->freed_ns = block->freed_ns;
	part->excess_ns = block->excess_ns / (whole / MAP_UNIT) * (part->room / MAP_UNIT);
	block->excess_ns -= part->excess_ns;
	*ret_lower = below ? part : block;
	*ret_upper = below ? block : part;
	return true;
}

static size_t skipped(const struct block *block, size_t alignment)
{
	return -block->base & (alignment - 1);
}

/* Could these pages serve the need? */
static bool is_of_use(const struct block *block, const struct need *need)
{
	return !block->altered && huge_suits(block, need->room, need->huge);
}

static bool fits(const struct block *block, const struct need *need)
{
	size_t front = skipped(block, need->stand);

	if (!is_of_use(block, need) || front > block->room || block->room - front < need->room)
		return false;
	/* What is pinned stays whole. */
	return block->pin == BLOCK_PAGEABLE || (front == 0 && block->room <= need->most);
}

/* Parts with the first `front` bytes of a block that is BLOCK_LEAVING.  NULL: it cannot. */
static struct block *without_front(struct block *block, size_t front)
{
	struct block *rest;

	if (front == 0)
		return block;
	if (!split(block, front, &rest, &block)) {
		insert(block);
		return NULL;
	}
	insert(rest);
	return block;
}

/* What is left over below and above is kept. */
static struct block *carve(struct block *block, const struct need *need)
{
	struct block *rest;

	detach(block);
	block = without_front(block, skipped(block, need->stand));
	if (block != NULL && block->room > need->most && split(block, need->room, &block, &rest))
		insert(rest);
	return block;
}

struct block *keep_take(const struct need *need)
{
	assert(hp_lock_held(HP_LOCK_heap));
	unsigned bin = bins_index(need->room);

	for (; (bin = bins_up(&bins, bin)) < BINS; bin++) {
		struct block *block = bins.first[bin];

		for (int looked = 0; block != NULL && looked < LOOK_AT; looked++) {
			if (fits(block, need))
				return carve(block, need);
			block = block->next;
		}
	}
	return NULL;
}

/* Bytes of free addresses behind the block. */
static size_t free_behind(const struct block *block)
{
	const struct block *after = map_at(block->base + block->room);

	return after != NULL && after->state == BLOCK_SPACE ? after->room : 0;
}

static bool could_be_longer(const struct block *block, const struct need *need)
{
	size_t front = skipped(block, need->stand);

	return block->pin == BLOCK_PAGEABLE && !block->altered &&
	       block->huge == (need->huge != HUGE_NOT) && front < block->room &&
	       block->room - front >= need->room / LONGER_PART &&
	       block->room - front + free_behind(block) >= need->room;
}

/* The largest of the few that are looked at. */
static struct block *find_longer(const struct need *need)
{
	unsigned least = bins_index(need->room / LONGER_PART), bin = BINS - 1;

	for (; (bin = bins_down(&bins, bin)) < BINS && bin >= least; bin--) {
		struct block *block = bins.first[bin];

		for (int looked = 0; block != NULL && looked < LOOK_AT; looked++) {
			if (could_be_longer(block, need))
				return block;
			block = block->next;
		}
		if (bin == 0)
			break;
	}
	return NULL;
}

struct block *keep_take_longer(const struct need *need, size_t *ret_used)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *block = find_longer(need);

	if (block == NULL)
		return NULL;
	detach(block);
	block = without_front(block, skipped(block, need->stand));
	if (block == NULL)
		return NULL;
	*ret_used = block->room;
	if (block->room >= need->room || span_extend(block, need->room))
		return block;
	insert(block);
	return NULL;
}

bool keep_extend(struct block *block, size_t room, uintptr_t *ret_fresh)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *upper = map_at(block->base + block->room), *rest;
	size_t lacking = room - block->room;

	if (may_join(upper, block)) {
		if (upper->room < lacking && upper->room + free_behind(upper) < lacking)
			return false;
		detach(upper);
		if (upper->room > lacking && split(upper, lacking, &upper, &rest))
			insert(rest);
		block->moved = block->moved || upper->moved;
		span_join(block, upper);
	}
	*ret_fresh = block->base + block->room;
	return block->room >= room || span_extend(block, room);
}

/* Of a kept block no more than about `bytes`, its upper end; the rest stays. */
static struct block *take_upper(struct block *block, size_t bytes)
{
	size_t unit = block->huge ? HUGE_PAGE : MAP_UNIT;

	detach(block);
	if (block->pin != BLOCK_PAGEABLE || bytes >= block->room)
		return block;

	/* No page is to be cut in two. */
	uintptr_t at = (block->base + block->room - bytes) & -unit;
	struct block *rest;
	if (at > block->base && split(block, at - block->base, &rest, &block))
		insert(rest);
	return block;
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

		if (wanted > above(bytes_most, taken))
			wanted = above(bytes_most, taken);
		if (wanted < above(over, taken))
			wanted = above(over, taken);
		/* Nobody will ever get that one. */
		if (block->altered)
			wanted = block->room;
		if (wanted == 0)
			break;
		block = take_upper(block, wanted);
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
	detach(block);
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

	if (pin == BLOCK_PAGEABLE && block->altered)
		pin = BLOCK_REFUSED;
	if (kept)
		ages_remove(ages_of(block), block);
	atomic_store(&block->pin, pin);
	if (kept) {
		ages_add(ages_of(block), block);
		if (!is_loose(block))
			note_pinned(block->freed_ns);
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

int keep_check(void)
{
	size_t binned, count = 0;
	bool may_be_due = false;
	int failed = bins_check(&bins, BLOCK_KEPT, &binned);

	if (failed != 0)
		return failed;
	if (!ages_hold(&loose, &count) || !ages_hold(&pinned, &count) || count != binned)
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
