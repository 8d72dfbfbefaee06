/*
 * reclaim.c - gives freed blocks back: by age, under memory pressure, and when the heap closes.
 */
#include "heap/reclaim.h"
#include "base/clock.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/expiry.h"
#include "heap/quota.h"
#include "heap/release.h"
#include "heap/slots.h"
#include "heap/span.h"

#include <errno.h>

/* Gives back all unpinned free blocks above the bound; returns their bytes.  No lock may be held.
 */
static size_t give_back_all(void)
{
	size_t bytes = 0;

	hp_lock(HP_LOCK_heap);
	cache_put_all(slots_drain(SLOTS_IDLE, UINT64_MAX, hp_now_coarse_ns()));
	size_t turns = expiry_bytes() / RELEASE_SWEEP_BYTES + 1;
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
	return atomic_load(&release_left_much) || atomic_load(&expiry_due_at) != UINT64_MAX;
}

uint64_t heap_expire(uint64_t now_ns)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	uint64_t before = quota_has_pressure() ? UINT64_MAX : now_ns - EXPIRY_SEEN_NS;
	cache_put_all(slots_drain(SLOTS_IDLE, before, now_ns));
	struct block *leaving = cache_take_expired(now_ns, RELEASE_SWEEP_BYTES);
	uint64_t due = expiry_at(now_ns);
	if (due == UINT64_MAX)
		atomic_store(&release_left_much, false);
	hp_unlock(HP_LOCK_heap);

	release_list(leaving);
	errno = saved;
	return due <= now_ns ? 0 : due;
}

void heap_set_pressure(enum heap_pressure level)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	quota_set_pressure(level);
	hp_unlock(HP_LOCK_heap);
	if (level != HEAP_PRESSURE_NONE)
		give_back_all();
	errno = saved;
}

bool heap_trim(size_t left)
{
	int saved = errno;

	hp_lock(HP_LOCK_heap);
	if (left < expiry_bound())
		expiry_set_bound(left);
	hp_unlock(HP_LOCK_heap);
	bool any = give_back_all() > 0;
	hp_lock(HP_LOCK_heap);
	quota_update();
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
	hp_lock(HP_LOCK_heap);
	expiry_set_bound(0);
	hp_unlock(HP_LOCK_heap);
	give_back_all();
	hp_lock(HP_LOCK_heap);
	span_close();
	quota_update();
	hp_unlock(HP_LOCK_heap);
	give_back_all();
	errno = saved;
}
