/*
 * deferred.c - a ring of the latest deferred copies, in the order of their calls.
 *
 * The ring is written under the lock trace, and read without it.  The reader ignores entries that
 * the program's threads may be overwriting.
 */
#include "trace/collect/deferred.h"
#include "base/arena.h"
#include "base/lock.h"
#include "trace/collect/correlation.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>

/* The size of the ring: more than the records in one of CUPTI's buffers, 11000. */
#define DEFERRED_MOST 16384

/*
 * The search range: threads may note calls in another order than they make them, and records may be
 * lost.
 */
#define NEIGHBORS     64

static struct deferred {
	_Atomic uint64_t bytes, enter_ns, leave_ns;
	_Atomic uint32_t thread;
} * ring;                     /* constant after deferred_start() */
static _Atomic uint64_t last; /* number of noted copies */

/* Used only by the thread that reads records. */
static uint64_t first;    /* all before it are claimed or given up */
static uint64_t *claimed; /* by slot: the claimed call's number, plus 1 */

int deferred_start(void)
{
	ring = hp_arena_alloc(DEFERRED_MOST * sizeof(*ring));
	claimed = hp_arena_alloc(DEFERRED_MOST * sizeof(*claimed));
	return ring != NULL && claimed != NULL ? 0 : -ENOMEM;
}

void deferred_note(const struct trace_copy *copy)
{
	uint64_t at = atomic_load_explicit(&last, memory_order_relaxed);

	assert(hp_lock_held(HP_LOCK_trace));
	/* A reader that sees the new entry also sees the count of the entries before it. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&ring[at % DEFERRED_MOST].bytes, copy->bytes, memory_order_relaxed);
	atomic_store_explicit(&ring[at % DEFERRED_MOST].enter_ns, copy->enter_ns,
			      memory_order_relaxed);
	atomic_store_explicit(&ring[at % DEFERRED_MOST].leave_ns, copy->leave_ns,
			      memory_order_relaxed);
	atomic_store_explicit(&ring[at % DEFERRED_MOST].thread, trace_thread(),
			      memory_order_relaxed);
	atomic_store_explicit(&last, at + 1, memory_order_release);
}

/*
 * Returns the oldest entry that is safe to read: the slot of the one before may be written just
 * now.
 */
static uint64_t oldest_of(uint64_t end)
{
	return end >= DEFERRED_MOST ? end - DEFERRED_MOST + 1 : 0;
}

static bool is_claimed(uint64_t at)
{
	return claimed[at % DEFERRED_MOST] == at + 1;
}

/* Skips entries that are claimed, and those that no record can match any more. */
static void catch_up(uint64_t end)
{
	if (first < oldest_of(end))
		first = oldest_of(end);
	while (first < end && is_claimed(first))
		first++;
}

/* True if the call at `at` can have made such a copy; writes when the call returned. */
static bool fits(uint64_t at, uint64_t bytes, uint64_t end_ns, uint64_t *ret_leave_ns)
{
	size_t place = at % DEFERRED_MOST;

	if (is_claimed(at) ||
	    atomic_load_explicit(&ring[place].bytes, memory_order_relaxed) != bytes ||
	    atomic_load_explicit(&ring[place].enter_ns, memory_order_relaxed) > end_ns)
		return false;
	*ret_leave_ns = atomic_load_explicit(&ring[place].leave_ns, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return at >= oldest_of(atomic_load_explicit(&last, memory_order_relaxed));
}

static bool is_callers(uint64_t at, const struct correlation_caller *caller)
{
	const struct deferred *call = &ring[at % DEFERRED_MOST];

	return correlation_is_within(caller,
				     atomic_load_explicit(&call->thread, memory_order_relaxed),
				     atomic_load_explicit(&call->enter_ns, memory_order_relaxed),
				     atomic_load_explicit(&call->leave_ns, memory_order_relaxed));
}

static bool claim(uint64_t bytes, uint64_t end_ns, const struct correlation_caller *caller,
		  uint64_t end, uint64_t *ret_leave_ns)
{
	for (uint64_t at = first; at < end && at - first < NEIGHBORS; at++) {
		if ((caller != NULL && !is_callers(at, caller)) ||
		    !fits(at, bytes, end_ns, ret_leave_ns))
			continue;
		claimed[at % DEFERRED_MOST] = at + 1;
		/* Records arrive in order: a skipped copy has no record. */
		if (at - first >= NEIGHBORS / 2)
			first = at;
		return true;
	}
	return false;
}

bool deferred_claim(uint64_t bytes, uint64_t end_ns, const struct correlation_caller *caller,
		    uint64_t *ret_leave_ns)
{
	uint64_t end = atomic_load_explicit(&last, memory_order_acquire);

	catch_up(end);
	return claim(bytes, end_ns, caller, end, ret_leave_ns);
}
