/*
 * resize.c - makes blocks longer or shorter, in place or by moving their pages.
 */
#include "heap/resize.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "base/protections.h"
#include "heap/cache.h"
#include "heap/huge_pages.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "heap/release.h"
#include "heap/slots.h"
#include "heap/span.h"

#include <errno.h>

/* A block that shrinks by less than one part in so many keeps its room. */
#define SHRINK_PART 16

/* A block that grows gets one part in so many more than requested. */
#define GROW_PART   16

/* Copying less is not slower than moving pages. */
#define MOVE_LEAST  ((size_t)1 << 20)

/* Returns the room for `bytes` in a block that keeps its start. */
static size_t room_for(const struct block *block, size_t bytes)
{
	return span_room(bytes + (block->start - block->base));
}

/* True if the block is unpinned and its mapping is ours.  Requires the lock heap. */
static bool is_bare(const struct block *block)
{
	return !hp_keeps(grown_unpinned) || block_pin(block) == BLOCK_PAGEABLE;
}

/* A range that wants 2 MiB pages from now on; empty if `from` is 0. */
struct advice {
	uintptr_t from, to;
};

static bool grow(struct block *block, size_t room, struct advice *advice)
{
	uintptr_t fresh, trial;

	/* A block that grows usually goes on growing, by little. */
	if (!cache_extend(block, room + (room / GROW_PART & -MAP_UNIT), &fresh) &&
	    !cache_extend(block, room, &fresh))
		return false;
	block->lengthened = true;
	advice->to = block->base + block->room;
	if (block->huge) {
		advice->from = fresh < advice->to ? fresh : 0;
	} else if (huge_claim(room, huge_decide(room, block->site, &trial))) {
		block->huge = true;
		advice->from = block->base;
	}
	return true;
}

/* Shortens the block and caches the rest, which has pages. */
static bool shrink(struct block *block, size_t room)
{
	struct block *tail = span_cut(block, room);

	if (tail != NULL)
		cache_put(tail, hp_now_coarse_ns());
	return true;
}

/* True if a block of room `old` may keep it for `room`. */
static bool is_right(size_t old, size_t room)
{
	return room <= old && room >= old - old / SHRINK_PART;
}

/* Requires the lock heap. */
static bool resize(struct block *block, size_t bytes, struct advice *advice)
{
	size_t room = room_for(block, bytes), old = block->room;

	if (is_right(old, room))
		return true;
	if (!is_bare(block))
		return room < old && room >= old / 2;
	slots_leave(block);
	atomic_store_explicit(&block->probe, 0, memory_order_relaxed);
	return room < old ? shrink(block, room) : grow(block, room, advice);
}

bool heap_resize(void *address, size_t bytes)
{
	struct block *leaving = NULL, *block = range_starting_at(address);
	struct advice advice = { 0, 0 };
	bool done = false;

	/* The fast path of blocks that grow by little: only its owner changes its room. */
	if (block != NULL && bytes <= block->room &&
	    is_right(block->room, room_for(block, bytes))) {
		atomic_store_explicit(&block->size, bytes, memory_order_relaxed);
		return true;
	}

	int saved = errno;
	hp_lock(HP_LOCK_heap);
	block = range_starting_at(address);
	if (block != NULL && span_could_hold(bytes)) {
		done = resize(block, bytes, &advice);
		if (done)
			atomic_store_explicit(&block->size, bytes, memory_order_relaxed);
		leaving = release_sweep(hp_now_coarse_ns());
	}
	hp_unlock(HP_LOCK_heap);

	release_list(leaving);
	if (advice.from != 0)
		pages_want_huge(advice.from, advice.to);
	errno = saved;
	return done;
}

/* Moves what is known of the pages along with them. */
static void inherit(struct block *to, struct block *from)
{
	to->start = to->base + (from->start - from->base);
	to->huge = from->huge;
	to->moved = true;
	to->lengthened = true;
	to->site = from->site;
	to->home = from->home;
	to->copied_bytes = atomic_exchange(&from->copied_bytes, 0);
	to->copied_ns = from->copied_ns;
}

/* Takes a block in use from its owner, and a destination *ret_to.  NULL: the block may not move. */
static struct block *move_begin(const void *address, size_t bytes, struct block **ret_to)
{
	int live = BLOCK_LIVE;

	hp_lock(HP_LOCK_heap);
	struct block *from = range_starting_at(address), *to = NULL;
	if (from != NULL && is_bare(from) && from->room >= MOVE_LEAST && span_could_hold(bytes) &&
	    room_for(from, bytes) > from->room)
		to = span_take(room_for(from, bytes), HP_HUGE_PAGE_BYTES);
	if (to != NULL)
		slots_leave(from);
	/* Another thread may be freeing the block, by mistake. */
	if (to != NULL && !atomic_compare_exchange_strong(&from->state, &live, BLOCK_LEAVING)) {
		span_give(to);
		to = NULL;
	}
	hp_unlock(HP_LOCK_heap);
	*ret_to = to;
	return to != NULL ? from : NULL;
}

/* The pages are in `to` now, or still in `from`: that block is in use from now on. */
static void move_end(struct block *from, struct block *to, size_t bytes, bool moved)
{
	hp_lock(HP_LOCK_heap);
	if (moved) {
		inherit(to, from);
		atomic_store_explicit(&to->size, bytes, memory_order_relaxed);
	} else {
		span_give(to);
	}
	atomic_store_explicit(moved ? &to->state : &from->state, BLOCK_LIVE, memory_order_release);
	hp_unlock(HP_LOCK_heap);
}

void *heap_move(void *address, size_t bytes)
{
	int saved = errno;
	struct block *to, *from = move_begin(address, bytes, &to);
	bool moved = from != NULL && pages_move(from, to);

	if (from != NULL)
		move_end(from, to, bytes, moved);
	errno = saved;
	if (!moved)
		return NULL;
	if (to->huge)
		pages_want_huge(to->base + from->room, to->base + to->room);
	from->next = NULL;
	release_list(from);
	errno = saved;
	return (void *)to->start;
}
