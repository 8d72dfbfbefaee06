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
#include "heap/cgroup.h"
#include "heap/expiry.h"
#include "heap/huge_pages.h"
#include "heap/limits.h"
#include "heap/release.h"
#include "heap/slots.h"
#include "heap/span.h"

#include <assert.h>
#include <errno.h>

/* What the cgroup has left is read again once the cache has grown by so much. */
#define LOOK_BYTES ((size_t)16 << 20)

/* Without an allocation for so long, nothing stays cached. */
#define IDLE_NS    (10 * EXPIRY_NS)

/* Changed under the lock heap, read by any thread. */
static _Atomic bool keeps_any; /* heap_expire() has something to do */
static _Atomic bool must_look;

/* Under the lock heap. */
static struct pressure_facts memory = { .available = UINT64_MAX };
static bool attended = true, idle;
static size_t looked_at;                /* bytes that were cached at the last look, or fewer */
static size_t yields_below, given_back; /* given_back: above the bound, while no thread attends */
static uint64_t allocated_ns;

static void update_bound(void)
{
	struct cache_bound bound;

	assert(hp_lock_held(HP_LOCK_heap));
	pressure_cache(&memory, attended && huge_device, &bound);
	if (span_is_closed())
		bound = (struct cache_bound){ 0 };
	expiry_set_bound(bound.most, idle ? 0 : bound.floor);
}

void reclaim_note_taken(uint64_t now)
{
	assert(hp_lock_held(HP_LOCK_heap));
	looked_at = hp_least(looked_at, expiry_unpinned());
	allocated_ns = now;
	if (idle) {
		idle = false;
		update_bound();
	}
}

void reclaim_note_kept(void)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (expiry_unpinned() != 0)
		atomic_store(&keeps_any, true);
	if (huge_device && expiry_unpinned() > looked_at + LOOK_BYTES)
		atomic_store(&must_look, true);
}

void reclaim_note_given_back(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (!attended)
		given_back += bytes;
}

void reclaim_end_free(struct block *leaving)
{
	release_list(leaving);
	if (atomic_load_explicit(&must_look, memory_order_relaxed))
		heap_look();
}

/* Gives back all unpinned free blocks above the bound; returns their bytes.  No lock may be held.
 */
static size_t give_back_all(void)
{
	size_t bytes = 0;

	hp_lock(HP_LOCK_heap);
	cache_put_all(slots_drain(SLOTS_IDLE, UINT64_MAX, hp_now_coarse_ns()));
	size_t turns = expiry_unpinned() / RELEASE_SWEEP_BYTES + 1;
	hp_unlock(HP_LOCK_heap);
	/* A counted loop: blocks that the kernel does not take back are cached again. */
	while (turns-- > 0) {
		hp_lock(HP_LOCK_heap);
		struct block *leaving = cache_take_expired(hp_now_coarse_ns(), RELEASE_SWEEP_BYTES);
		hp_unlock(HP_LOCK_heap);
		bytes += release_list(leaving);
	}
	return bytes;
}

bool heap_needs_expiry(void)
{
	return atomic_load(&keeps_any) || atomic_load(&expiry_due_at) != UINT64_MAX;
}

uint64_t heap_expire(uint64_t now_ns)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	uint64_t before = expiry_floor() == 0 ? UINT64_MAX : now_ns - EXPIRY_SEEN_NS;
	cache_put_all(slots_drain(SLOTS_IDLE, before, now_ns));
	/* A slot that stays was used. */
	if (slots_bytes() != 0)
		allocated_ns = now_ns;
	idle = hp_above(now_ns, allocated_ns) >= IDLE_NS;
	update_bound();
	struct block *leaving = cache_take_expired(now_ns, RELEASE_SWEEP_BYTES);
	uint64_t due = expiry_at(now_ns);
	if (due == UINT64_MAX)
		atomic_store(&keeps_any, false);
	hp_unlock(HP_LOCK_heap);

	release_list(leaving);
	errno = saved;
	return due <= now_ns ? 0 : due;
}

void heap_set_memory(const struct pressure_facts *facts)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	memory = *facts;
	update_bound();
	looked_at = expiry_unpinned();
	atomic_store(&must_look, false);
	bool over = expiry_over() != 0 || expiry_floor() == 0;
	hp_unlock(HP_LOCK_heap);
	if (over)
		give_back_all();
	errno = saved;
}

void heap_look(void)
{
	struct cgroup_memory cgroup;
	size_t ram = limits_ram();

	cgroup_look("", &cgroup);
	hp_lock(HP_LOCK_heap);
	struct pressure_facts facts = memory;
	hp_unlock(HP_LOCK_heap);
	facts.ram = ram;
	facts.cgroup_limit = cgroup.limit;
	facts.cgroup_left = cgroup.left;
	heap_set_memory(&facts);
}

void heap_set_attended(bool is)
{
	hp_lock(HP_LOCK_heap);
	attended = is;
	if (is)
		given_back = 0;
	update_bound();
	hp_unlock(HP_LOCK_heap);
}

void heap_yield_below(size_t bytes)
{
	hp_lock(HP_LOCK_heap);
	yields_below = bytes;
	hp_unlock(HP_LOCK_heap);
}

bool reclaim_yields(size_t bytes)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return bytes < yields_below && given_back > expiry_bound();
}

bool heap_trim(size_t left)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	expiry_set_bound(hp_least(left, expiry_bound()), expiry_floor());
	hp_unlock(HP_LOCK_heap);
	bool any = give_back_all() > 0;
	hp_lock(HP_LOCK_heap);
	update_bound();
	hp_unlock(HP_LOCK_heap);
	errno = saved;
	return any;
}

void heap_close(void)
{
	int saved = errno;

	/*
	 * Gives all pages back first: free space then goes in few large ranges, and the range of
	 * the heap is cut at its upper end.
	 */
	heap_trim(0);
	hp_lock(HP_LOCK_heap);
	span_close();
	update_bound();
	hp_unlock(HP_LOCK_heap);
	give_back_all();
	errno = saved;
}
