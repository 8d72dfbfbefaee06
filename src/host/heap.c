/*
 * heap.c - allocation and freeing of big blocks: from a slot (quick.c), from the cache (keep.c) or
 * from free address space (span.c).
 *
 * Runs inside malloc() of programs that are not ours: no malloc, no stdio, no driver, errno as it
 * was.
 */
#include "host/heap.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "host/huge.h"
#include "host/keep.h"
#include "host/limits.h"
#include "host/live.h"
#include "host/pages.h"
#include "host/quick.h"
#include "host/retire.h"
#include "host/span.h"
#include "host/stagger.h"

#include <errno.h>

/* More than any machine has, and little enough that sums do not wrap. */
#define BYTES_MOST ((size_t)1 << 46)

/* What a recycled block may be larger than was asked for: one part in so many. */
#define WASTE_PART 8

/* Of what may be kept, what the slots of one shard may hold when they have nothing that suits. */
#define SHARD_PART 8

/* Whoever is in the midst of free() may wait so long for a processor. */
#define STRAY_NS   ((uint64_t)20000000000)

static _Atomic bool started;
static _Atomic unsigned turn; /* of the next fresh block, for stagger.h */

/* Under the lock heap. */
static bool prepared;
static size_t block_most; /* larger ones are for the kernel to refuse */

void heap_start(void)
{
	atomic_store(&started, true);
}

void heap_set_device(bool is_there)
{
	/* Read from files, so not under the lock. */
	size_t ram = limits_ram(), left = limits_cgroup_left("");

	hp_lock(HP_LOCK_heap);
	huge_set_device(is_there, ram, left);
	retire_set_device(is_there);
	hp_unlock(HP_LOCK_heap);
}

void heap_set_attended(bool is)
{
	hp_lock(HP_LOCK_heap);
	retire_set_attended(is);
	hp_unlock(HP_LOCK_heap);
}

void heap_yield_below(size_t bytes)
{
	hp_lock(HP_LOCK_heap);
	retire_set_yielding(bytes);
	hp_unlock(HP_LOCK_heap);
}

/* The lock heap is held. */
static bool prepare(void)
{
	if (!prepared) {
		prepared = true;
		block_most = limits_ram_and_swap();
		retire_set_bound();
	}
	return span_start();
}

bool live_may_be(size_t bytes)
{
	return bytes <= block_most;
}

/* False: there is no such block. */
static bool make_need(struct need *need, size_t bytes, size_t alignment, uint32_t site)
{
	if (bytes > BYTES_MOST || alignment > BYTES_MOST)
		return false;

	size_t room = span_room(bytes + stagger_most(bytes, alignment));
	size_t natural = room >= HP_HUGE_PAGE_BYTES ? HP_HUGE_PAGE_BYTES : MAP_UNIT;
	size_t most = bytes + bytes / WASTE_PART;
	*need = (struct need){
		.bytes = bytes,
		.alignment = alignment,
		.room = room,
		.most = most > room ? most : room,
		.stand = alignment > natural ? alignment : natural,
		.site = site,
	};
	need->huge = huge_wish(room, site, &need->trial);
	return true;
}

/*
 * A recycled block begins where it began before, if that will do: those pages are there.  One that
 * was cut or joined meanwhile may have its old start outside.
 */
static bool start_suits(const struct block *block, const struct need *need)
{
	size_t offset = block->start - block->base;

	return (block->start & (need->alignment - 1)) == 0 && offset <= block->room &&
	       need->bytes <= block->room - offset;
}

static void choose_start(struct block *block, const struct need *need)
{
	unsigned at = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed);
	size_t offset = stagger_offset(at, need->bytes, need->alignment);

	atomic_store_explicit(&block->start, block->base + offset, memory_order_relaxed);
}

/* The block is the program's, but for its state.  Of its pages the first `used` are not new. */
static inline void hand_out(struct block *block, const struct need *need, size_t used)
{
	if (used == 0 || !start_suits(block, need))
		choose_start(block, need);
	/* What is there was written for another site. */
	if (used != 0 && atomic_load_explicit(&block->site, memory_order_relaxed) != need->site)
		atomic_store_explicit(&block->probe, 0, memory_order_relaxed);
	atomic_store_explicit(&block->site, need->site, memory_order_relaxed);
	atomic_store_explicit(&block->size, need->bytes, memory_order_relaxed);
	huge_handed_out(block, need->huge, need->trial, need->site);
}

/* A block without a lock, or NULL. */
static struct block *take_quick(const struct need *need)
{
	struct block *block = quick_take(need);

	if (block == NULL || quick_suits(block, need)) {
		if (block != NULL)
			hand_out(block, need, block->room);
		return block;
	}

	/* It has become another's between the look and the grip. */
	hp_lock(HP_LOCK_heap);
	atomic_store_explicit(&block->state, BLOCK_LEAVING, memory_order_release);
	struct block *leaving = retire_block(block);
	hp_unlock(HP_LOCK_heap);
	retire_list(leaving);
	return NULL;
}

/* What was freed before, from near to far.  The lock heap is held. */
static struct block *take_kept(const struct need *need, uint64_t now, size_t *ret_used)
{
	struct block *block = keep_take(need), *drained = NULL;

	/* A few blocks of a few sizes serve all between them; many large ones are better joined. */
	if (block == NULL && quick_mine() > keep_bound() / SHARD_PART)
		drained = quick_drain(QUICK_MINE, 0, now);
	if (drained != NULL) {
		keep_put_all(drained);
		block = keep_take(need);
	}
	if (block == NULL)
		block = quick_steal(need);
	if (block == NULL)
		return retire_yields(need->bytes) ? NULL : keep_take_longer(need, ret_used);
	*ret_used = block->room;
	return block;
}

static struct block *take(const struct need *need, size_t *ret_used)
{
	struct block *block = NULL, *leaving = NULL;
	uint64_t now = keep_now();
	uintptr_t advised_end = 0;
	int saved = errno;

	*ret_used = 0;
	hp_lock(HP_LOCK_heap);
	if (prepare() && need->bytes <= block_most) {
		block = take_kept(need, now, ret_used);
		if (block == NULL && !retire_yields(need->bytes)) {
			block = span_take(need->room, need->stand);
			if (block != NULL)
				block->huge = huge_claim(need->room, need->huge);
		}
		leaving = retire_sweep(now);
	}
	if (block != NULL) {
		/* Joined and cut since it had a probe. */
		atomic_store_explicit(&block->probe, 0, memory_order_relaxed);
		hand_out(block, need, *ret_used);
		block->home = quick_shard();
		if (block->huge && *ret_used < block->room)
			advised_end = *ret_used == 0 ? huge_end(block, need->huge)
						     : block->base + block->room;
		atomic_store_explicit(&block->state, BLOCK_LIVE, memory_order_release);
	}
	hp_unlock(HP_LOCK_heap);

	retire_list(leaving);
	if (advised_end != 0)
		pages_want_huge(block->base + *ret_used, advised_end);
	errno = saved;
	return block;
}

void *heap_alloc(size_t bytes, size_t alignment, bool zeroed, uint32_t site)
{
	struct need need;

	if (!atomic_load_explicit(&started, memory_order_relaxed))
		return NULL;
	if (!make_need(&need, bytes, alignment != 0 ? alignment : 1, site)) {
		hp_count(heap_fallbacks);
		return NULL;
	}

	struct block *block = take_quick(&need);
	size_t used;
	if (block != NULL) {
		used = block->room;
	} else {
		block = take(&need, &used);
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

struct block *live_find(const void *address)
{
	struct block *block = map_at((uintptr_t)address);

	if (block == NULL ||
	    atomic_load_explicit(&block->state, memory_order_acquire) != BLOCK_LIVE)
		return NULL;
	return atomic_load_explicit(&block->start, memory_order_relaxed) == (uintptr_t)address
		       ? block
		       : NULL;
}

bool heap_holds(const void *address)
{
	struct block *block = map_at((uintptr_t)address);
	int state = block != NULL ? atomic_load_explicit(&block->state, memory_order_acquire)
				  : BLOCK_SPACE;

	if (!heap_owns(address) || (state < BLOCK_LIVE && span_is_closed()))
		return false;
	return state < BLOCK_LIVE || !atomic_load_explicit(&block->altered, memory_order_relaxed);
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
	struct block *block = live_find(address);
	int state = BLOCK_LIVE;

	if (block == NULL)
		return -EINVAL;
	note_freed(block->size);
	if (quick_park(block))
		return 0;

	int saved = errno;
	/* Of two that free it one is wrong, and finds out here. */
	if (!atomic_compare_exchange_strong(&block->state, &state, BLOCK_LEAVING))
		return -EINVAL;

	hp_lock(HP_LOCK_heap);
	struct block *leaving = retire_block(block);
	hp_unlock(HP_LOCK_heap);
	retire_list(leaving);
	errno = saved;
	return 0;
}

size_t heap_usable(const void *address)
{
	struct block *block = live_find(address);

	return block != NULL ? block->room - (block->start - block->base) : 0;
}

void heap_count(void)
{
	hp_lock(HP_LOCK_heap);
	quick_count();
	hp_unlock(HP_LOCK_heap);
}

static size_t bytes_in(enum block_state state)
{
	size_t bytes = 0;

	for (struct block *at = span_first(); at != NULL; at = span_next(at))
		bytes += at->state == (int)state ? at->room : 0;
	return bytes;
}

void heap_stats(size_t *ret_live, size_t *ret_kept)
{
	hp_lock(HP_LOCK_heap);
	*ret_live = bytes_in(BLOCK_LIVE);
	*ret_kept = bytes_in(BLOCK_PARKED) + keep_bytes();
	hp_unlock(HP_LOCK_heap);
}

void heap_after_fork_child(void)
{
	struct block *list = NULL;

	hp_lock(HP_LOCK_heap);
	for (struct block *at = span_first(); at != NULL; at = span_next(at)) {
		bool parked = at->state == BLOCK_PARKED && !at->quick;

		if (!parked && at->state != BLOCK_LEAVING)
			continue;
		quick_leave(at);
		atomic_store_explicit(&at->state, BLOCK_LEAVING, memory_order_relaxed);
		at->next = list;
		list = at;
	}
	hp_unlock(HP_LOCK_heap);
	retire_list(list);
}

/* A block that is parked has a slot, but for a moment in the life of free(). */
static bool is_stray(void)
{
	for (struct block *at = span_first(); at != NULL; at = span_next(at))
		if (at->state == BLOCK_PARKED && !at->quick)
			return true;
	return false;
}

int heap_check(void)
{
	uint64_t begun = hp_now_ns();
	int failed = 0;

	while (hp_now_ns() - begun < STRAY_NS) {
		hp_lock(HP_LOCK_heap);
		failed = span_check();
		if (failed == 0)
			failed = keep_check();
		if (failed == 0)
			failed = quick_check();
		bool stray = is_stray();
		hp_unlock(HP_LOCK_heap);
		if (failed != 0 || !stray)
			return failed;
		hp_sleep_ns(100000);
	}
	return __LINE__;
}
