/*
 * keep.c - the cache of freed blocks: one list a class, the newest first.
 *
 * A program that allocates, copies and frees in a loop shall pay for page faults and for pinning
 * once.  What nothing pins is joined with its neighbours and cut to measure, as in any malloc(),
 * and bounded in bytes and in time.  What is pinned stays whole, and stays until somebody who may
 * call the driver has unpinned it: its pages given back under a registration would be silent
 * corruption.
 */
#include "host/keep.h"
#include "base/lock.h"
#include "host/span.h"

#include <assert.h>
#include <time.h>

#define HUGE_PAGE  ((size_t)2 << 20)

/* What a block may be larger than asked for without being split: one part in so many. */
#define WASTE_PART 16

/* How many blocks of one class are looked at before the next class is. */
#define LOOK_AT    16

/* What is given back beyond what must be: one part of the bound in so many. */
#define SLACK_PART 16

_Atomic uint64_t keep_due_at = UINT64_MAX;

/* Under the lock heap. */
static struct block *newest[SPAN_CLASSES];
static uint64_t filled[(SPAN_CLASSES + 63) / 64];
static size_t loose_bytes, pinned_bytes, hurry_bytes;
static size_t bound, block_bound;
static bool hasty;

uint64_t keep_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void keep_set_bounds(size_t total, size_t block_most)
{
	assert(hp_lock_held(HP_LOCK_heap));
	bound = total;
	block_bound = block_most;
}

/* Some clocks are read before others: the future is not old. */
static bool is_old(const struct block *block, uint64_t now)
{
	return hasty || (now > block->freed_ns && now - block->freed_ns >= KEEP_NS);
}

static size_t floor_bytes(void)
{
	return hasty ? 0 : KEEP_FLOOR;
}

static bool is_loose(const struct block *block)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);

	return pin == BLOCK_PAGEABLE || pin == BLOCK_REFUSED;
}

static size_t *sum_of(const struct block *block)
{
	return is_loose(block) ? &loose_bytes : &pinned_bytes;
}

bool keep_is_over(void)
{
	return loose_bytes > bound;
}

bool keep_wants(const struct block *block)
{
	return !is_loose(block) || (block->room <= block_bound && !block->altered);
}

static void set_due(uint64_t when)
{
	atomic_store_explicit(&keep_due_at, when, memory_order_relaxed);
}

/* A pinned block freed at `freed_ns` is among those kept. */
static void note_pinned(uint64_t freed_ns)
{
	if (hasty || pinned_bytes > bound)
		set_due(0);
	else if (freed_ns + KEEP_NS < keep_due_at)
		set_due(freed_ns + KEEP_NS);
}

static void insert(struct block *block)
{
	unsigned list = span_class(block->room);

	block->previous = NULL;
	block->next = newest[list];
	if (block->next != NULL)
		block->next->previous = block;
	newest[list] = block;
	filled[list / 64] |= (uint64_t)1 << list % 64;
	*sum_of(block) += block->room;
	atomic_store_explicit(&block->state, BLOCK_KEPT, memory_order_release);
	if (!is_loose(block))
		note_pinned(block->freed_ns);
}

static void detach(struct block *block)
{
	unsigned list = span_class(block->room);

	if (block->previous != NULL)
		block->previous->next = block->next;
	else
		newest[list] = block->next;
	if (block->next != NULL)
		block->next->previous = block->previous;
	if (newest[list] == NULL)
		filled[list / 64] &= ~((uint64_t)1 << list % 64);
	*sum_of(block) -= block->room;
	block->next = block->previous = NULL;
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
	if (pinned_bytes == 0)
		set_due(UINT64_MAX);
}

/* May the kept `neighbour` and `block` become one? */
static bool may_join(const struct block *neighbour, const struct block *block)
{
	return neighbour != NULL && neighbour->state == BLOCK_KEPT &&
	       neighbour->pin == BLOCK_PAGEABLE && neighbour->huge == block->huge;
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
		struct block *lower = span_at(block->base - 1);
		struct block *upper = span_at(block->base + block->room);

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
	part->excess_ns = block->excess_ns / (whole / SPAN_UNIT) * (part->room / SPAN_UNIT);
	block->excess_ns -= part->excess_ns;
	*ret_lower = below ? part : block;
	*ret_upper = below ? block : part;
	return true;
}

static size_t skipped(const struct block *block, size_t alignment)
{
	return -block->base & (alignment - 1);
}

static bool fits(const struct block *block, size_t room, size_t alignment)
{
	size_t front = skipped(block, alignment);

	if (block->altered || front > block->room || block->room - front < room)
		return false;
	/* What is pinned stays whole. */
	return block->pin == BLOCK_PAGEABLE ||
	       (front == 0 && block->room - room <= room / WASTE_PART);
}

/* What is left over below and above is kept. */
static struct block *carve(struct block *block, size_t room, size_t alignment)
{
	size_t front = skipped(block, alignment);
	struct block *rest;

	detach(block);
	if (front != 0) {
		if (!split(block, front, &rest, &block)) {
			insert(block);
			return NULL;
		}
		insert(rest);
	}
	if (block->room - room > room / WASTE_PART && split(block, room, &block, &rest))
		insert(rest);
	return block;
}

struct block *keep_take(size_t room, size_t alignment)
{
	assert(hp_lock_held(HP_LOCK_heap));
	for (unsigned list = span_class(room); list < SPAN_CLASSES; list++) {
		uint64_t left = filled[list / 64] >> list % 64;
		int looked = 0;

		if (left == 0) {
			list |= 63;
			continue;
		}
		list += (unsigned)__builtin_ctzl(left);
		for (struct block *block = newest[list]; block != NULL && looked < LOOK_AT;
		     block = block->next, looked++)
			if (fits(block, room, alignment))
				return carve(block, room, alignment);
	}
	return NULL;
}

/* The block freed first of all that are loose, or of all that are BLOCK_PINNED. */
static struct block *find_oldest(bool loose)
{
	struct block *found = NULL;

	for (unsigned word = 0; word < sizeof(filled) / sizeof(filled[0]); word++) {
		for (uint64_t bits = filled[word]; bits != 0; bits &= bits - 1) {
			struct block *at = newest[word * 64 + (unsigned)__builtin_ctzl(bits)];

			for (; at != NULL; at = at->next) {
				if (loose ? !is_loose(at) : at->pin != BLOCK_PINNED)
					continue;
				if (found == NULL || at->freed_ns < found->freed_ns)
					found = at;
			}
		}
	}
	return found;
}

/* Of a kept block no more than about `bytes`, its upper end; the rest stays. */
static struct block *take_upper(struct block *block, size_t bytes)
{
	size_t unit = block->huge ? HUGE_PAGE : SPAN_UNIT;
	size_t wanted = (bytes + unit - 1) & -unit;

	detach(block);
	if (block->pin != BLOCK_PAGEABLE || wanted >= block->room)
		return block;

	struct block *rest;
	if (split(block, block->room - wanted, &rest, &block))
		insert(rest);
	return block;
}

struct block *keep_take_expired(uint64_t now, size_t bytes_most)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *list = NULL;

	/* A little more than must be, or every free() from now on would cost a system call. */
	size_t over = loose_bytes > bound ? loose_bytes - bound + bound / SLACK_PART : 0;

	for (size_t taken = 0; loose_bytes > 0 && taken < bytes_most;) {
		struct block *block = find_oldest(true);
		size_t most = bytes_most - taken, above = over > taken ? over - taken : 0;
		size_t old = loose_bytes > floor_bytes() ? loose_bytes - floor_bytes() : 0;
		size_t wanted = !is_old(block, now) ? 0 : old < most ? old : most;

		/* Nobody will ever get that one. */
		if (block->altered)
			wanted = block->room;
		if (wanted < above)
			wanted = above;
		if (wanted == 0)
			break;
		block = take_upper(block, wanted);
		taken += block->room;
		block->next = list;
		list = block;
	}
	return list;
}

uint64_t keep_next_expiry(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (loose_bytes <= floor_bytes())
		return UINT64_MAX;
	return hasty ? 0 : find_oldest(true)->freed_ns + KEEP_NS;
}

void keep_set_hasty(bool is_hasty)
{
	assert(hp_lock_held(HP_LOCK_heap));
	hasty = is_hasty;
	if (hasty && pinned_bytes != 0)
		set_due(0);
}

struct block *keep_take_due(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *block = find_oldest(false);

	if (block == NULL) {
		/* Those that are just changing are noted when that is over. */
		hurry_bytes = 0;
		set_due(UINT64_MAX);
		return NULL;
	}
	if (hurry_bytes == 0 && pinned_bytes <= bound && !is_old(block, now)) {
		set_due(block->freed_ns + KEEP_NS);
		return NULL;
	}
	hurry_bytes -= block->room < hurry_bytes ? block->room : hurry_bytes;
	detach(block);
	return block;
}

void keep_hurry(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (pinned_bytes == 0)
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
		*sum_of(block) -= block->room;
	atomic_store_explicit(&block->pin, pin, memory_order_release);
	if (kept) {
		*sum_of(block) += block->room;
		if (!is_loose(block))
			note_pinned(block->freed_ns);
	}
}

size_t keep_bytes(void)
{
	return loose_bytes + pinned_bytes;
}

int keep_check(void)
{
	size_t loose = 0, pinned = 0;
	bool may_be_due = false;

	for (unsigned list = 0; list < SPAN_CLASSES; list++) {
		struct block *previous = NULL;

		if ((newest[list] != NULL) != (filled[list / 64] >> list % 64 & 1))
			return __LINE__;
		for (struct block *at = newest[list]; at != NULL; at = at->next) {
			if (at->state != BLOCK_KEPT || span_class(at->room) != list)
				return __LINE__;
			if (at->previous != previous || at->pin == BLOCK_FOREIGN)
				return __LINE__;
			*(is_loose(at) ? &loose : &pinned) += at->room;
			may_be_due = may_be_due || at->pin == BLOCK_PINNED;
			previous = at;
		}
	}
	if (may_be_due && keep_due_at == UINT64_MAX)
		return __LINE__;
	return loose == loose_bytes && pinned == pinned_bytes ? 0 : __LINE__;
}
