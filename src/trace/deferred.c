/*
 * deferred.c - the latest deferred copies in a ring, in the order of their calls.
 */
#include "trace/deferred.h"
#include "base/lock.h"

#include <stdatomic.h>

/* So many are remembered: records come up to some seconds late. */
#define DEFERRED_MOST 4096

/* Threads make calls in one order and note them in another; and records may be lost. */
#define NEIGHBOURS    64

static struct {
	uint64_t bytes, enter_ns, leave_ns;
	bool claimed;
} ring[DEFERRED_MOST];        /* under the lock trace */
static uint64_t first;        /* under the lock trace: before it, all are claimed or given up */
static _Atomic uint64_t last; /* written under the lock trace */

void deferred_note(const struct trace_copy *copy)
{
	uint64_t at = atomic_load(&last);

	ring[at % DEFERRED_MOST].bytes = copy->bytes;
	ring[at % DEFERRED_MOST].enter_ns = copy->enter_ns;
	ring[at % DEFERRED_MOST].leave_ns = copy->leave_ns;
	ring[at % DEFERRED_MOST].claimed = false;
	atomic_store(&last, at + 1);
}

/* With the lock held.  Passes what is claimed, and what no record will tell of any more. */
static void catch_up(uint64_t end)
{
	if (end - first > DEFERRED_MOST)
		first = end - DEFERRED_MOST;
	while (first < end && ring[first % DEFERRED_MOST].claimed)
		first++;
}

bool deferred_claim(uint64_t bytes, uint64_t end_ns, uint64_t *ret_leave_ns)
{
	bool found = false;

	if (atomic_load_explicit(&last, memory_order_relaxed) == 0)
		return false;
	hp_lock(HP_LOCK_trace);
	uint64_t end = atomic_load(&last);
	catch_up(end);
	for (uint64_t at = first; at < end && at - first < NEIGHBOURS && !found; at++) {
		size_t slot = at % DEFERRED_MOST;

		if (ring[slot].claimed || ring[slot].bytes != bytes || ring[slot].enter_ns > end_ns)
			continue;
		ring[slot].claimed = found = true;
		*ret_leave_ns = ring[slot].leave_ns;
		/* Records come in order: what was passed by has none. */
		if (at - first >= NEIGHBOURS / 2)
			first = at;
	}
	hp_unlock(HP_LOCK_trace);
	return found;
}
