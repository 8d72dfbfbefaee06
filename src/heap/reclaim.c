/*
 * reclaim.c - how much of the free cache may stay, and gives the rest back: by age, beyond the
 * bound, under memory pressure, and when the heap closes.
 *
 * Freed memory that stays is lost to all others in the same container.  So free() itself keeps the
 * bound, and reads again what the container has left before it keeps much more.
 */
#include "heap/reclaim.h"
#include "base/bounds.h"
#include "base/clock.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/huge_pages.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/shards.h"

#include <assert.h>

/* What the cgroup has left is read again once the cache has grown by so much. */
#define LOOK_BYTES ((size_t)16 << 20)

/* Without an allocation for so long, nothing stays cached. */
#define IDLE_NS    (10 * CACHE_NS)

/* Changed under the lock heap, read by any thread. */
static _Atomic bool keeps_any; /* heap_expire() has something to do */
static _Atomic bool must_look = true;

/* Under the lock heap. */
static struct limits memory = { .available = UINT64_MAX };
static bool attended = true, idle;
static size_t looked_at;                /* bytes that were cached at the last look, or fewer */
static size_t yields_below, given_back; /* given_back: above the bound, while no thread attends */
static uint64_t allocated_ns;

/* True if a thread of ours gives freed blocks back by age.  Otherwise few stay. */
static bool is_attended(void)
{
	return attended && huge_device;
}

static void update_bound(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	limits_cache(&memory, is_attended(), &cache_bound);
	if (map_is_closed())
		cache_bound = (struct cache_bound){ 0 };
	if (idle)
		cache_bound.floor = 0;
}

void reclaim_note_taken(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	looked_at = hp_least(looked_at, cache_unpinned());
	allocated_ns = now;
	if (idle) {
		idle = false;
		update_bound();
	}
}

struct block *reclaim_sweep(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (cache_unpinned() != 0)
		atomic_store(&keeps_any, true);
	if (is_attended() && cache_unpinned() > looked_at + LOOK_BYTES)
		atomic_store(&must_look, true);
	if (cache_unpinned() <= cache_bound.most)
		return NULL;
	shards_drain(now);
	size_t before = cache_unpinned();
	struct block *leaving = cache_take_old(SIZE_MAX, now);
	if (!attended)
		given_back += before - cache_unpinned();
	return leaving;
}

void reclaim_look(void)
{
	if (atomic_load_explicit(&must_look, memory_order_relaxed))
		heap_look();
}

/*
 * Gives back the unpinned free blocks above the bound, or above `most` if that is less; returns
 * their bytes.  No lock may be held.
 */
static size_t give_back(size_t most)
{
	uint64_t now = hp_now_coarse_ns();

	hp_lock(HP_LOCK_heap);
	shards_drain(now);
	return cache_purge(cache_take_old(most, now));
}

bool heap_needs_expiry(void)
{
	return atomic_load(&keeps_any);
}

void heap_expire(uint64_t now_ns)
{
	hp_lock(HP_LOCK_heap);
	/* The next block of a loop goes through the lock once, and is parked again. */
	if (shards_drain(now_ns))
		allocated_ns = now_ns;
	idle = hp_above(now_ns, allocated_ns) >= IDLE_NS;
	update_bound();
	struct block *leaving = cache_take_old(SIZE_MAX, now_ns);
	if (cache_unpinned() == 0)
		atomic_store(&keeps_any, false);
	cache_purge(leaving);
}

void heap_set_memory(const struct limits *limits)
{
	hp_lock(HP_LOCK_heap);
	memory = *limits;
	update_bound();
	looked_at = cache_unpinned();
	atomic_store(&must_look, false);
	bool over = cache_unpinned() > cache_bound.most || cache_bound.floor == 0;
	hp_unlock(HP_LOCK_heap);
	if (over)
		give_back(SIZE_MAX);
}

void heap_look(void)
{
	struct limits limits;

	limits_look_at_cgroup("", &limits);
	hp_lock(HP_LOCK_heap);
	limits.available = memory.available;
	hp_unlock(HP_LOCK_heap);
	heap_set_memory(&limits);
}

void heap_set_attended(bool is, size_t bytes)
{
	hp_lock(HP_LOCK_heap);
	attended = is;
	yields_below = bytes;
	update_bound();
	hp_unlock(HP_LOCK_heap);
}

bool reclaim_yields(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bytes < yields_below && given_back > cache_bound.most;
}

bool heap_trim(size_t left)
{
	return give_back(left) > 0;
}

void heap_close(void)
{
	hp_lock(HP_LOCK_heap);
	if (!map_is_closed()) {
		map_close();
		cache_close();
		update_bound();
	}
	hp_unlock(HP_LOCK_heap);
	give_back(SIZE_MAX);
}
