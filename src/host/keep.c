/*
 * keep.c - the cache of freed blocks by size; by age it is lapse.c's.
 *
 * A program that allocates, copies and frees in a loop shall pay for page faults and for pinning
 * once.  What nothing pins is joined with its neighbours and cut to measure, as in any malloc().
 * What is pinned stays whole, and stays until somebody who may call the driver has unpinned it: its
 * pages given back under a registration would be silent corruption.
 */
#include "host/keep.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/protections.h"
#include "host/bins.h"
#include "host/kept.h"
#include "host/span.h"

#include <assert.h>

/* How many blocks of one bin are looked at before the next bin is. */
#define LOOK_AT     16

/* A block is lengthened only where it is at least one part in so many of what is wanted. */
#define LONGER_PART 4

/* Under the lock heap. */
static struct bins bins; /* of BLOCK_KEPT */

static void insert(struct block *block)
{
	bins_add(&bins, block);
	atomic_store_explicit(&block->state, BLOCK_KEPT, memory_order_release);
	lapse_add(block);
}

void kept_detach(struct block *block)
{
	bins_remove(&bins, block);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
	lapse_remove(block);
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
	if (block->pin == BLOCK_PAGEABLE || !hp_keeps(pinned_stays_whole)) {
		struct block *lower = map_at(block->base - 1);
		struct block *upper = map_at(block->base + block->room);

		if (may_join(lower, block)) {
			kept_detach(lower);
			block = join(lower, block);
		}
		if (may_join(upper, block)) {
			kept_detach(upper);
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

	kept_detach(block);
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
	kept_detach(block);
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
		kept_detach(upper);
		if (upper->room > lacking && split(upper, lacking, &upper, &rest))
			insert(rest);
		block->moved = block->moved || upper->moved;
		span_join(block, upper);
	}
	*ret_fresh = block->base + block->room;
	return block->room >= room || span_extend(block, room);
}

struct block *kept_take_upper(struct block *block, size_t bytes)
{
	size_t unit = block->huge ? HP_HUGE_PAGE_BYTES : MAP_UNIT;

	kept_detach(block);
	if (block->pin != BLOCK_PAGEABLE || bytes >= block->room)
		return block;

	/* No page is to be cut in two. */
	uintptr_t at = (block->base + block->room - bytes) & -unit;
	struct block *rest;
	if (at > block->base && split(block, at - block->base, &rest, &block))
		insert(rest);
	return block;
}

int keep_check(void)
{
	size_t binned, aged;
	int failed = bins_check(&bins, BLOCK_KEPT, &binned);

	if (failed == 0)
		failed = lapse_check(&aged);
	if (failed != 0)
		return failed;
	return binned == aged ? 0 : __LINE__;
}
