/*
 * span.c - one reserved address range, allocated in units of 16 KiB.
 *
 * Only the first and the last unit of free space are in the map, for joining neighbors.  Free
 * space is always clean: its pages were never touched or went back to the kernel, so it reads as
 * zero and costs nothing.
 *
 * The range starts without access and outside of core dumps, and is opened from below in steps. A
 * dump would walk all of an open TiB.
 */
#include "heap/span.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "heap/bins.h"
#include "heap/descriptor.h"
#include "heap/limits.h"
#include "heap/map.h"

#include <assert.h>
#include <errno.h>

#define RESERVE_LEAST ((size_t)64 << 30)
#define RESERVE_USUAL ((size_t)1 << 40)
#define OPEN_STEP     ((size_t)32 << 20)

/* Number of spaces that are looked at in a bin before the next bin. */
#define LOOK_AT       32

/* Under the lock heap. */
static enum { UNTRIED, READY, OFF } condition;
static size_t bytes_most;            /* larger blocks are for the kernel to refuse */
static _Atomic bool closed;          /* read by any thread */
static uintptr_t start;              /* constant once heap_bytes is not 0 */
static _Atomic uintptr_t opened_end; /* read by any thread: no block lies above it */
static struct bins bins;             /* of BLOCK_SPACE */

/* Reserves `bytes` at a multiple of HP_HUGE_PAGE_BYTES; 0: not possible. */
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

/* Puts the ends of free or unmapped space into the map, and nothing between them. */
static void map_ends(uintptr_t base, size_t room, struct block *block)
{
	map_set(base, base + MAP_UNIT, block);
	map_set(base + room - MAP_UNIT, base + room, block);
}

/* Puts free space [base, base + room) into its bin and into the map. */
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
	struct block *space = descriptor_take();

	if (space == NULL)
		return false;
	start = base;
	opened_end = base;
	if (!map_start(base, bytes)) {
		descriptor_give(space);
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
	bytes_most = limits_ram_and_swap();
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

bool span_could_hold(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bytes <= bytes_most;
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

/* Returns the lowest of the first few spaces that fit, in the smallest bin that has one. */
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

/* Makes everything below `end` accessible, and part of core dumps. */
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

	struct block *block = descriptor_take(), *front = descriptor_take();
	if (block == NULL || front == NULL) {
		if (block != NULL)
			descriptor_give(block);
		return NULL;
	}

	uintptr_t from = space->base, end = from + space->room;
	uintptr_t base = aligned(from, alignment);
	space_remove(space);
	if (from < base)
		space_insert(front, from, base - from);
	else
		descriptor_give(front);
	if (base + room < end)
		space_insert(space, base + room, end - base - room);
	else
		descriptor_give(space);

	descriptor_begin(block, base, room);
	map_set(base, base + room, block);
	return block;
}

/* Returns the addresses of a block that is in no list to the kernel. */
static void part_with(struct block *block)
{
	int saved = errno;

	hp_unmap((void *)block->base, block->room);
	map_ends(block->base, block->room, block);
	atomic_store_explicit(&block->state, BLOCK_GONE, memory_order_release);
	errno = saved;
}

/*
 * Cuts the free space at the upper end, and its map, off the heap.  No address there was ever
 * handed out, so no reader asks the map for one.
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
				descriptor_give(space);
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
		descriptor_give(before);
	}
	if (after != NULL && after->state == BLOCK_SPACE) {
		space_remove(after);
		end = after->base + after->room;
		descriptor_give(after);
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
		descriptor_give(after);
	map_set(from, to, block);
	block->room = room;
	return true;
}

struct block *span_cut(struct block *block, size_t room)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *tail = descriptor_take();

	if (tail == NULL)
		return NULL;
	descriptor_begin(tail, block->base + room, block->room - room);
	tail->moved = block->moved;
	tail->huge = block->huge;
	map_set(tail->base, tail->base + tail->room, tail);
	block->room = room;
	return tail;
}

struct block *span_cut_below(struct block *block, size_t room)
{
	assert(hp_lock_held(HP_LOCK_heap));
	struct block *front = descriptor_take();

	if (front == NULL)
		return NULL;
	descriptor_begin(front, block->base, room);
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
	descriptor_give(other);
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
