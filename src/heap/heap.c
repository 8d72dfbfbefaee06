/*
 * heap.c - allocates and frees big blocks: in a slot (slots.c), in the free cache (cache.c) or in
 * free address space (span.c).
 *
 * Runs inside malloc() of other programs: no malloc, no stdio, no driver call; errno is kept.
 */
#include "heap/heap.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/coloring.h"
#include "heap/expiry.h"
#include "heap/huge_pages.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "heap/pin_state.h"
#include "heap/reclaim.h"
#include "heap/release.h"
#include "heap/slots.h"
#include "heap/span.h"

#include <errno.h>

/* More than any machine has, and small enough that sums do not overflow. */
#define BYTES_MOST ((size_t)1 << 46)

/* A recycled block may be larger than requested by one part in so many. */
#define WASTE_PART 8

/* The share of the bound that the slots of a shard may hold if none of them suits. */
#define SHARD_PART 8

static _Atomic bool started;
static _Atomic bool looked;   /* heap_look() was called */
static _Atomic unsigned turn; /* of the next new block, for coloring.h */

void heap_start(void)
{
	atomic_store(&started, true);
}

void heap_set_device(bool is_there)
{
	/* These read files, so the lock is not held. */
	size_t ram = limits_ram(), left = limits_cgroup_left("");

	hp_lock(HP_LOCK_heap);
	huge_set_device(is_there, ram, left);
	hp_unlock(HP_LOCK_heap);
	heap_look();
}

/* Fills *request.  False: no block can be so large. */
static bool make_request(struct request *request, size_t bytes, size_t alignment, uint32_t site)
{
	if (bytes > BYTES_MOST || alignment > BYTES_MOST)
		return false;

	size_t room = span_room(bytes + coloring_most(bytes, alignment));
	size_t natural = room >= HP_HUGE_PAGE_BYTES ? HP_HUGE_PAGE_BYTES : MAP_UNIT;
	size_t most = bytes + bytes / WASTE_PART;
	*request = (struct request){
		.bytes = bytes,
		.alignment = alignment,
		.room = room,
		.most = most > room ? most : room,
		.stand = alignment > natural ? alignment : natural,
		.site = site,
	};
	request->huge = huge_decide(room, site, &request->trial);
	return true;
}

/*
 * True if a recycled block can begin where it began before: those pages are resident.  The old
 * start may lie outside of a block that was cut or joined meanwhile.
 */
static bool start_suits(const struct block *block, const struct request *request)
{
	size_t offset = block->start - block->base;

	return (block->start & (request->alignment - 1)) == 0 && offset <= block->room &&
	       request->bytes <= block->room - offset;
}

static void choose_start(struct block *block, const struct request *request)
{
	unsigned at = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
	size_t offset = coloring_offset(at, request->bytes, request->alignment);

	atomic_store_explicit(&block->start, block->base + offset, memory_order_relaxed);
}

/*
 * Prepares the block for the program; only its state is left to set.  The first `used` bytes of
 * its pages are not new.
 */
static inline void hand_out(struct block *block, const struct request *request, size_t used)
{
	if (used == 0 || !start_suits(block, request))
		choose_start(block, request);
	/* Another site has written those pages. */
	if (used != 0 && atomic_load_explicit(&block->site, memory_order_relaxed) != request->site)
		atomic_store_explicit(&block->probe, 0, memory_order_relaxed);
	atomic_store_explicit(&block->site, request->site, memory_order_relaxed);
	atomic_store_explicit(&block->size, request->bytes, memory_order_relaxed);
	huge_handed_out(block, request->huge, request->trial, request->site);
}

/* Takes a block from a slot, without a lock, or NULL. */
static struct block *take_slot(const struct request *request)
{
	struct block *block = slots_take(request);

	if (block == NULL || slots_suits(block, request)) {
		if (block != NULL)
			hand_out(block, request, block->room);
		return block;
	}

	/* Another thread changed the block between the search and the take. */
	hp_lock(HP_LOCK_heap);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
	struct block *leaving = release_block(block);
	hp_unlock(HP_LOCK_heap);
	release_list(leaving);
	return NULL;
}

/* Takes a block that was freed before, the cheapest source first.  Requires the lock heap. */
static struct block *take_cached(const struct request *request, uint64_t now, size_t *ret_used)
{
	struct block *block = cache_take(request), *drained = NULL;

	/* A few blocks of a few sizes are best in slots; many large ones are better joined. */
	if (block == NULL && slots_mine() > expiry_bound() / SHARD_PART)
		drained = slots_drain(SLOTS_MINE, 0, now);
	if (drained != NULL) {
		cache_put_all(drained);
		block = cache_take(request);
	}
	if (block == NULL)
		block = slots_steal(request);
	if (block == NULL)
		return reclaim_yields(request->bytes) ? NULL : cache_take_longer(request, ret_used);
	*ret_used = block->room;
	return block;
}

static struct block *take(const struct request *request, size_t *ret_used)
{
	struct block *block = NULL, *leaving = NULL;
	uint64_t now = hp_now_coarse_ns();
	uintptr_t advised_end = 0;
	int saved = errno;

	*ret_used = 0;
	if (!atomic_load_explicit(&looked, memory_order_relaxed) && !atomic_exchange(&looked, true))
		heap_look();
	hp_lock(HP_LOCK_heap);
	if (span_start() && span_could_hold(request->bytes)) {
		block = take_cached(request, now, ret_used);
		if (block == NULL && !reclaim_yields(request->bytes)) {
			block = span_take(request->room, request->stand);
			if (block != NULL)
				block->huge = huge_claim(request->room, request->huge);
		}
		reclaim_note_taken(now);
		leaving = release_sweep(now);
	}
	if (block != NULL) {
		/* The block was joined and cut since it had a probe. */
		atomic_store_explicit(&block->probe, 0, memory_order_relaxed);
		hand_out(block, request, *ret_used);
		block->home = slots_shard();
		if (block->huge && *ret_used < block->room)
			advised_end = *ret_used == 0 ? huge_end(block, request->huge)
						     : block->base + block->room;
		atomic_store_explicit(&block->state, BLOCK_LIVE, memory_order_release);
	}
	hp_unlock(HP_LOCK_heap);

	release_list(leaving);
	if (advised_end != 0)
		pages_want_huge(block->base + *ret_used, advised_end);
	errno = saved;
	return block;
}

void *heap_alloc(size_t bytes, size_t alignment, bool zeroed, uint32_t site)
{
	struct request request;

	if (!atomic_load_explicit(&started, memory_order_relaxed))
		return NULL;
	if (!make_request(&request, bytes, alignment != 0 ? alignment : 1, site)) {
		hp_count(heap_fallbacks);
		return NULL;
	}

	struct block *block = take_slot(&request);
	size_t used;
	if (block != NULL) {
		used = block->room;
	} else {
		block = take(&request, &used);
		if (block == NULL) {
			hp_count(heap_fallbacks);
			return NULL;
		}
		hp_count(blocks_served);
		if (used != 0)
			hp_count(blocks_reused);
	}
	if (zeroed && block->base + used > block->start) {
		uintptr_t end = block->start + bytes, dirty = block->base + used;

		pages_clear(block, block->start, end < dirty ? end : dirty);
	}
	return (void *)block->start;
}

bool heap_holds(const void *address)
{
	struct block *block = map_at((uintptr_t)address);
	int state = block != NULL ? atomic_load_explicit(&block->state, memory_order_acquire)
				  : BLOCK_SPACE;

	if (!heap_owns(address) || (state < BLOCK_LIVE && span_is_closed()))
		return false;
	return state < BLOCK_LIVE || !block_is_altered(block);
}

_Atomic size_t heap_freed_most;

static void note_freed(size_t bytes)
{
	size_t most = atomic_load_explicit(&heap_freed_most, memory_order_relaxed);

	while (bytes > most && !atomic_compare_exchange_weak(&heap_freed_most, &most, bytes))
		continue;
}

int heap_free(void *address)
{
	struct block *block = range_starting_at(address);
	int state = BLOCK_LIVE;

	if (block == NULL)
		return -EINVAL;
	note_freed(block->size);
	if (slots_park(block))
		return 0;

	int saved = errno;
	/* If two threads free the same block, one of them fails here. */
	if (!atomic_compare_exchange_strong(&block->state, &state, BLOCK_LEAVING))
		return -EINVAL;

	hp_lock(HP_LOCK_heap);
	struct block *leaving = release_block(block);
	hp_unlock(HP_LOCK_heap);
	reclaim_end_free(leaving);
	errno = saved;
	return 0;
}

size_t heap_usable(const void *address)
{
	struct block *block = range_starting_at(address);

	return block != NULL ? block->room - (block->start - block->base) : 0;
}

void heap_count(void)
{
	hp_lock(HP_LOCK_heap);
	slots_count();
	hp_unlock(HP_LOCK_heap);
}

static size_t bytes_in(enum block_state state, size_t *ret_blocks)
{
	size_t bytes = 0, blocks = 0;

	for (struct block *at = span_first(); at != NULL; at = span_next(at)) {
		if (at->state != (int)state)
			continue;
		bytes += at->room;
		blocks++;
	}
	*ret_blocks = blocks;
	return bytes;
}

size_t heap_live(size_t *ret_blocks)
{
	hp_lock(HP_LOCK_heap);
	size_t bytes = bytes_in(BLOCK_LIVE, ret_blocks);
	hp_unlock(HP_LOCK_heap);
	return bytes;
}

void heap_stats(size_t *ret_live, size_t *ret_kept)
{
	size_t blocks;

	*ret_live = heap_live(&blocks);
	hp_lock(HP_LOCK_heap);
	*ret_kept = bytes_in(BLOCK_PARKED, &blocks) + expiry_bytes();
	hp_unlock(HP_LOCK_heap);
}

void heap_after_fork_child(void)
{
	struct block *list = NULL;

	/* Another thread may have had a word, and its block is given back below. */
	heap_reset_words();
	hp_lock(HP_LOCK_heap);
	for (struct block *at = span_first(); at != NULL; at = span_next(at)) {
		bool parked = at->state == BLOCK_PARKED && !at->has_slot;

		if (!parked && at->state != BLOCK_LEAVING)
			continue;
		slots_leave(at);
		atomic_store_explicit(&at->state, BLOCK_LEAVING, memory_order_relaxed);
		at->next = list;
		list = at;
	}
	hp_unlock(HP_LOCK_heap);
	release_list(list);
}
