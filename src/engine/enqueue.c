/*
 * enqueue.c - a thread counts itself and then reads the count of captures; a capture does it the
 * other way round.
 */
#include "engine/enqueue.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/protections.h"
#include "engine/state.h"

#include <limits.h>

static _Atomic uint32_t inside; /* a futex */

bool enqueue_begin(void)
{
	hp_uncancellable_begin();
	atomic_fetch_add(&inside, 1);
	if (atomic_load(&state_captures) == 0 || !hp_keeps(plain_during_captures))
		return true;
	enqueue_end();
	return false;
}

void enqueue_end(void)
{
	atomic_fetch_sub(&inside, 1);
	if (atomic_load(&state_captures) != 0)
		hp_wake(&inside, INT_MAX);
	hp_uncancellable_end();
}

void enqueue_wait(uint64_t until_ns)
{
	for (uint32_t count; (count = atomic_load(&inside)) != 0;)
		if (!hp_wait_until(&inside, count, until_ns))
			return;
}

void enqueue_after_fork_child(void)
{
	atomic_store(&inside, 0);
}
