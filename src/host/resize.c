/*
 * resize.c - blocks that become longer or shorter, where they stand or by moving their pages.
 */
#include "base/kernel.h"
#include "base/lock.h"
#include "base/protections.h"
#include "host/heap.h"
#include "host/huge.h"
#include "host/keep.h"
#include "host/live.h"
#include "host/pages.h"
#include "host/quick.h"
#include "host/retire.h"
#include "host/span.h"

#include <errno.h>

/* A block that shrinks by less than one part in so many keeps its room. */
#define SHRINK_PART 16

/* One that grows gets one part in so many more than it needs now. */
#define GROW_PART   16

/* Copying less costs no more than to move it. */
#define MOVE_LEAST  ((size_t)1 << 20)

/* The room for `bytes` in a block that keeps its start. */
static size_t room_for(const struct block *block, size_t bytes)
{
	return span_room(bytes + (block->start - block->base));
}

/* Does nothing pin it, and is it as we made it?  The lock heap is held. */
static bool is_bare(const struct block *block)
{
	return !hp_keeps(grown_unpinned) || block->pin == BLOCK_PAGEABLE ||
	       (block->pin == BLOCK_REFUSED && !block->altered);
}

/* Pages that want 2 MiB pages from now on; empty if *from is 0. */
struct advice {
	uintptr_t from, to;
};

static bool grow(struct block *block, size_t room, struct advice *advice)
{
	uintptr_t fresh, trial;

	/* Whoever grows mostly goes on, by little. */
	if (!keep_extend(block, room + (room / GROW_PART & -MAP_UNIT), &fresh) &&
	    !keep_extend(block, room, &fresh))
		return false;
	block->lengthened = true;
	advice->to = block->base + block->room;
	if (block->huge) {
		advice->from = fresh < advice->to ? fresh : 0;
	} else if (huge_claim(room, huge_wish(room, block->site, &trial))) {
		block->huge = true;
		advice->from = block->base;
	}
	return true;
}

/* What is cut off is kept: it has pages. */
static bool shrink(struct block *block, size_t room)
{
	struct block *tail = span_cut(block, room);

	if (tail != NULL)
		keep_put(tail, keep_now());
	return true;
}

/* Is the room that the block has right for `room`? */
static bool is_right(size_t old, size_t room)
{
	return room <= old && room >= old - old / SHRINK_PART;
}

/* The lock heap is held. */
static bool resize(struct block *block, size_t bytes, struct advice *advice)
{
	size_t room = room_for(block, bytes), old = block->room;

	if (is_right(old, room))
		return true;
	if (!is_bare(block))
		return room < old && room >= old / 2;
	quick_leave(block);
	atomic_store_explicit(&block->probe, 0, memory_order_relaxed);
	return room < old ? shrink(block, room) : grow(block, room, advice);
}

bool heap_resize(void *address, size_t bytes)
{
	struct block *leaving = NULL, *block = live_find(address);
	struct advice advice = { 0, 0 };
	bool done = false;

	/* Most steps of what grows by little: nothing but its owner changes its room. */
	if (block != NULL && bytes <= block->room &&
	    is_right(block->room, room_for(block, bytes))) {
		atomic_store_explicit(&block->size, bytes, memory_order_relaxed);
		return true;
	}

	int saved = errno;
	hp_lock(HP_LOCK_heap);
	block = live_find(address);
	if (block != NULL && live_may_be(bytes)) {
		done = resize(block, bytes, &advice);
		if (done)
			atomic_store_explicit(&block->size, bytes, memory_order_relaxed);
		leaving = retire_sweep(keep_now());
	}
	hp_unlock(HP_LOCK_heap);

	retire_list(leaving);
	if (advice.from != 0)
		pages_want_huge(advice.from, advice.to);
	errno = saved;
	return done;
}

/* What is known of the pages goes with them. */
static void inherit(struct block *to, struct block *from)
{
	to->start = to->base + (from->start - from->base);
	to->huge = from->huge;
	to->moved = true;
	to->lengthened = true;
	to->site = from->site;
	to->home = from->home;
	to->excess_ns = atomic_exchange(&from->excess_ns, 0);
	to->drawn_ns = atomic_exchange(&from->drawn_ns, 0);
	to->copied_ns = from->copied_ns;
}

/* A block in use is taken from its owner; *ret_to is where it shall go.  NULL: it may not. */
static struct block *move_begin(const void *address, size_t bytes, struct block **ret_to)
{
	int live = BLOCK_LIVE;

	hp_lock(HP_LOCK_heap);
	struct block *from = live_find(address), *to = NULL;
	if (from != NULL && is_bare(from) && from->room >= MOVE_LEAST && live_may_be(bytes) &&
	    room_for(from, bytes) > from->room)
		to = span_take(room_for(from, bytes), HP_HUGE_PAGE_BYTES);
	if (to != NULL)
		quick_leave(from);
	/* Somebody may be freeing it, wrongly. */
	if (to != NULL && !atomic_compare_exchange_strong(&from->state, &live, BLOCK_LEAVING)) {
		span_give(to);
		to = NULL;
	}
	hp_unlock(HP_LOCK_heap);
	*ret_to = to;
	return to != NULL ? from : NULL;
}

/* The pages are in `to`, or still in `from`: that one is in use from now on. */
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
	retire_list(from);
	errno = saved;
	return (void *)to->start;
}
