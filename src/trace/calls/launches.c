/*
 * launches.c - a table of fixed size, by a hash of the way up the stack.
 */
#include "trace/calls/launches.h"
#include "base/lock.h"
#include "trace/keys.h"

#include <stdatomic.h>

/* Under the lock trace. */
static struct launch_site sites[LAUNCHES_MOST];
static struct keys keys; /* hashes */
static uint64_t lost;

/* Not under the lock, since each launch adds to a sum. */
static struct sum {
	_Atomic uint64_t count, host_ns;
} sums[LAUNCHES_MOST];

int launches_start(void)
{
	return keys_start(&keys, LAUNCHES_MOST);
}

/* Names the way.  Without room for its place, the launch is lost. */
static void name(struct frames_way *way)
{
	hp_lock(HP_LOCK_trace);
	uint32_t row = keys_find(&keys, way->hash);
	if (row == KEYS_NONE && keys.rows < LAUNCHES_MOST) {
		hp_unlock(HP_LOCK_trace);
		struct launch_site site = { .place = frames_place(way) };
		hp_lock(HP_LOCK_trace);
		/* Another thread may have added the place. */
		row = keys_find(&keys, way->hash);
		if (row == KEYS_NONE && (row = keys_add(&keys, way->hash)) != KEYS_NONE)
			sites[row] = site;
	}
	lost += row == KEYS_NONE;
	hp_unlock(HP_LOCK_trace);
	way->launch = row + 1; /* of KEYS_NONE: 0 */
}

uint32_t launches_called(struct frames_way *way, uint64_t took_ns)
{
	if (way->launch == 0)
		name(way);
	if (way->launch == 0)
		return LAUNCHES_MOST;
	struct sum *sum = &sums[way->launch - 1];
	atomic_fetch_add_explicit(&sum->count, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&sum->host_ns, took_ns, memory_order_relaxed);
	return way->launch - 1;
}

uint64_t launches_lost(void)
{
	return hp_locked(HP_LOCK_trace, lost);
}

bool launches_read(size_t index, struct launch_site *ret)
{
	if (index >= hp_locked(HP_LOCK_trace, keys.rows))
		return false;
	*ret = hp_locked(HP_LOCK_trace, sites[index]);
	ret->count = atomic_load_explicit(&sums[index].count, memory_order_relaxed);
	ret->host_ns = atomic_load_explicit(&sums[index].host_ns, memory_order_relaxed);
	return true;
}
