/*
 * span.c - one reserved range of addresses, dealt out in units of 16 KiB.
 *
 * For free space only the first and the last unit are on the map: they let neighbours grow
 * together.  Free space is always clean: its pages were never touched or went back to the kernel,
 * so it reads as zero and costs nothing.
 *
 * The range starts without access and outside of core dumps, and is opened from below in steps.
 * Opened whole, a dump would walk a TiB of it.
 */
#include "host/span.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "host/bins.h"
#include "host/heap.h"
#include "host/limits.h"
#include "host/season.h"
#include "host/spare.h"

#include <assert.h>
#include <errno.h>

#define RESERVE_LEAST ((size_t)64 << 30)
#define RESERVE_USUAL ((size_t)1 << 40)
#define OPEN_STEP     ((size_t)32 << 20)

/* Of free space, the debug walk looks at so many bytes. */
#define CHECK_MOST    ((size_t)64 << 20)

/* How many spans of one bin are looked at before the next bin is. */
#define LOOK_AT       32

/* Under the lock heap. */
static enum { UNTRIED, READY, OFF } condition;
static _Atomic bool closed;          /* read by anybody */
static uintptr_t start;              /* constant once heap_bytes is not 0 */
static _Atomic uintptr_t opened_end; /* read by anybody: nothing was dealt out above it */
static struct bins bins;             /* of BLOCK_SPACE */

/* Reserves `bytes` at a multiple of HP_HUGE_PAGE_BYTES; 0: cannot be had. */
static uintptr_t reserve(size_t bytes)
{
	char *got = hp_map(NULL, bytes + HP_HUGE_PAGE_BYTES, PROT_NONE, MAP_NORESERVE);

	if (got == MAP_FAILED)
		return 0;

	size_t before = -(uintptr_t)got & (HP_HUGE_PAGE_BYTES - 1);
	if (before != 0)
		hp_unmap(got, before);
	hp_unmap(got + before + bytes, HP_HUGE_PAGE_BYTES - before);
	hp_advise(got + before, bytes, MADV_DONTDUMP);
	return (uintptr_t)got + before;
}

size_t span_room(size_t bytes)
{
	return bytes != 0 ? (bytes + MAP_UNIT - 1) & -MAP_UNIT : MAP_UNIT;
}

/* Free or given back: only its first and last unit are on the map. */
static bool is_hollow(const struct block *block)
{
	return block->state == BLOCK_SPACE || block->state == BLOCK_GONE;
}

/* Puts the ends of the block on the map, and nothing between them. */
static void map_ends(uintptr_t base, size_t room, struct block *block)
{
	map_set(base, base + MAP_UNIT, block);
	map_set(base + room - MAP_UNIT, base + room, block);
}

/* Free space of [base, base + room): into its bin and onto the map. */
static void space_insert(struct block *space, uintptr_t base, size_t room)
{
	atomic_store_explicit(&space->base, base, memory_order_relaxed);
	atomic_store_explicit(&space->room, room, memory_order_relaxed);
	bins_add(&bins, space);
	map_ends(base, room, space);
	atomic_store_explicit(&space->state, BLOCK_SPACE, memory_order_release);
}

static void space_remove(struct block *space)
{
	bins_remove(&bins, space);
	map_ends(space->base, space->room, NULL);
}

static bool start_at(uintptr_t base, size_t bytes)
{
	struct block *space = spare_take();

	if (space == NULL)
		return false;
	start = base;
	opened_end = base;
	if (!map_start(base, bytes)) {
		spare_give(space);
		return false;
	}
	space_insert(space, base, bytes);
	return true;
}

bool span_start(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (condition != UNTRIED)
		return condition == READY;
	condition = OFF;
	if (closed || limits_ration_space())
		return false;

	size_t bytes = RESERVE_USUAL;
	while (bytes < 4 * limits_ram())
		bytes *= 2;
	for (; bytes >= RESERVE_LEAST; bytes /= 2) {
		uintptr_t base = reserve(bytes);

		if (base == 0)
			continue;
		if (start_at(base, bytes)) {
			condition = READY;
			return true;
		}
		hp_unmap((void *)base, bytes);
	}
	return false;
}

static uintptr_t aligned(uintptr_t address, size_t alignment)
{
	return (address + alignment - 1) & -(uintptr_t)alignment;
}

static bool fits(const struct block *space, size_t room, size_t alignment)
{
	size_t skipped = aligned(space->base, alignment) - space->base;

	return skipped <= space->room && space->room - skipped >= room;
}

/* The lowest of the first few that fit in the smallest bin that has one. */
static struct block *find_space(size_t room, size_t alignment)
{
	unsigned bin = bins_index(room);

	for (; (bin = bins_up(&bins, bin)) < BINS; bin++) {
		struct block *best = NULL;
		int looked = 0;

		for (struct block *at = bins.first[bin]; at != NULL && looked < LOOK_AT;
		     at = at->next, looked++) {
			if (fits(at, room, alignment) && (best == NULL || at->base < best->base))
				best = at;
		}
		if (best != NULL)
			return best;
	}
	return NULL;
}

/* Everything below `end` may be read and written, and is part of core dumps. */
static bool open_up_to(uintptr_t end)
{
	if (end <= opened_end)
		return true;

	uintptr_t to = start + aligned(end - start, OPEN_STEP);
	void *from = (void *)opened_end;
	if (hp_protect(from, to - opened_end, PROT_READ | PROT_WRITE) != 0)
		return false;
	hp_advise(from, to - opened_end, MADV_DODUMP);
	opened_end = to;
	return true;
}

struct block *span_take(size_t room, size_t alignment)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *space = find_space(room, alignment);

	if (space == NULL || !open_up_to(aligned(space->base, alignment) + room))
		return NULL;

	struct block *block = spare_take(), *front = spare_take();
	if (block == NULL || front == NULL) {
		if (block != NULL)
			spare_give(block);
		return NULL;
	}

	uintptr_t from = space->base, end = from + space->room;
	uintptr_t base = aligned(from, alignment);
	space_remove(space);
	if (from < base)
		space_insert(front, from, base - from);
	else
		spare_give(front);
	if (base + room < end)
		space_insert(space, base + room, end - base - room);
	else
		spare_give(space);

	spare_begin(block, base, room);
	map_set(base, base + room, block);
	return block;
}

/* The addresses of a block that is in no list are the kernel's again. */
static void part_with(struct block *block)
{
	int saved = errno;

	hp_unmap((void *)block->base, block->room);
	map_ends(block->base, block->room, block);
	atomic_store_explicit(&block->state, BLOCK_GONE, memory_order_release);
	errno = saved;
}

/*
 * The free space at the upper end, and the map of it, cease to be the heap's.  Nobody was ever
 * given an address there, so nobody asks the map for one.
 */
static void cut_tail(uintptr_t from)
{
	uintptr_t end = start + heap_bytes;
	int saved = errno;

	map_cut(from - start);
	hp_unmap((void *)from, end - from);
	errno = saved;
}

void span_close(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (atomic_exchange(&closed, true) || condition != READY)
		return;
	for (unsigned bin = 0; (bin = bins_up(&bins, bin)) < BINS; bin++) {
		for (struct block *space; (space = bins.first[bin]) != NULL;) {
			uintptr_t from = space->base;
			bool is_tail = from + space->room == start + heap_bytes;

			space_remove(space);
			if (is_tail) {
				cut_tail(from);
				spare_give(space);
			} else {
				part_with(space);
			}
		}
	}
}

bool span_is_closed(void)
{
	return atomic_load_explicit(&closed, memory_order_relaxed);
}

void span_give(struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	season_not_bought(block);
	assert(block->state == BLOCK_LEAVING);
	if (closed) {
		map_set(block->base, block->base + block->room, NULL);
		part_with(block);
		return;
	}
	uintptr_t from = block->base, end = from + block->room;
	struct block *before = from > start ? map_at(from - 1) : NULL;
	struct block *after = map_at(end);

	map_set(from, end, NULL);
	if (before != NULL && before->state == BLOCK_SPACE) {
		space_remove(before);
		from = before->base;
		spare_give(before);
	}
	if (after != NULL && after->state == BLOCK_SPACE) {
		space_remove(after);
		end = after->base + after->room;
		spare_give(after);
	}
	space_insert(block, from, end - from);
}

bool span_extend(struct block *block, size_t room)
{
	assert(hp_lock_held(HP_LOCK_heap));
	uintptr_t from = block->base + block->room, to = block->base + room;
	struct block *after = map_at(from);

	if (after == NULL || after->state != BLOCK_SPACE || after->base + after->room < to ||
	    !open_up_to(to))
		return false;

	uintptr_t end = after->base + after->room;
	space_remove(after);
	if (to < end)
		space_insert(after, to, end - to);
	else
		spare_give(after);
	map_set(from, to, block);
	block->room = room;
	return true;
}

struct block *span_cut(struct block *block, size_t room)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *tail = spare_take();

	if (tail == NULL)
		return NULL;
	spare_begin(tail, block->base + room, block->room - room);
	tail->moved = block->moved;
	tail->huge = block->huge;
	map_set(tail->base, tail->base + tail->room, tail);
	block->room = room;
	return tail;
}

struct block *span_cut_below(struct block *block, size_t room)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *front = spare_take();

	if (front == NULL)
		return NULL;
	spare_begin(front, block->base, room);
	front->moved = block->moved;
	front->huge = block->huge;
	map_set(front->base, front->base + room, front);
	block->base += room;
	block->room -= room;
	return front;
}

void span_join(struct block *block, struct block *other)
{
	assert(hp_lock_held(HP_LOCK_heap));
	assert(block->base + block->room == other->base ||
	       other->base + other->room == block->base);
	map_set(other->base, other->base + other->room, block);
	if (other->base < block->base)
		block->base = other->base;
	block->room += other->room;
	spare_give(other);
}

struct block *span_walk(uintptr_t *at, uintptr_t end)
{
	if (atomic_load_explicit(&heap_bytes, memory_order_acquire) == 0)
		return NULL;

	uintptr_t from = *at < start ? start : *at, stop = opened_end < end ? opened_end : end;
	for (; from < stop; from = (from | (MAP_UNIT - 1)) + 1) {
		struct block *block = map_at(from);

		if (block == NULL ||
		    atomic_load_explicit(&block->state, memory_order_acquire) < BLOCK_LIVE ||
		    from - block->base >= block->room)
			continue;
		*at = block->base + block->room;
		return block;
	}
	*at = end;
	return NULL;
}

struct block *span_first(void)
{
	return condition == READY ? map_at(start) : NULL;
}

struct block *span_next(const struct block *block)
{
	return map_at(block->base + block->room);
}

int span_check(void)
{
	size_t spaces = 0, listed = 0, seen = 0;
	bool space_before = false;

	for (struct block *block = span_first(); block != NULL; block = span_next(block)) {
		bool space = block->state == BLOCK_SPACE, hollow = is_hollow(block);

		if (block->base != start + seen || block->room == 0 || block->room % MAP_UNIT)
			return __LINE__;
		if (block->state == BLOCK_UNUSED || (space && space_before))
			return __LINE__;
		if (map_at(block->base + block->room - 1) != block)
			return __LINE__;
		if (!hollow && block->base + block->room > opened_end)
			return __LINE__;
		for (uintptr_t at = block->base; !hollow && at < block->base + block->room;
		     at += MAP_UNIT)
			if (map_at(at) != block)
				return __LINE__;
		for (uintptr_t at = block->base + MAP_UNIT;
		     hollow && at < block->base + block->room - MAP_UNIT &&
		     at < block->base + CHECK_MOST;
		     at += MAP_UNIT)
			if (map_at(at) != NULL)
				return __LINE__;
		seen += block->room;
		spaces += space;
		space_before = space;
	}
	if (condition == READY && seen != heap_bytes)
		return __LINE__;
	int failed = bins_check(&bins, BLOCK_SPACE, &listed);
	if (failed != 0)
		return failed;
	return listed == spaces ? 0 : __LINE__;
}
