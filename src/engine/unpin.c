/*
 * unpin.c - unpinning in the program's thread.  Unpinning waits for users of the block and for
 * running kernels, as the program's own unregistering would.  For fork(), the housekeeper unpins.
 */
#include "engine/unpin.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/thread.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "heap/reclaim.h"
#include "pin/cost.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "pin/unpin.h"
#include "stage/memory.h"

#include <limits.h>

void unpin_range(const void *address, size_t bytes)
{
	if (state_active && heap_touches(address, bytes))
		pin_unpin(address, bytes);
}

void unpin_everything(void)
{
	if (!state_active)
		return;
	pin_queue_forget(0);
	pin_unpin(NULL, SIZE_MAX);
	memory_give_back();
}

void unpin_hold(void)
{
	hp_uncancellable_begin();
	pin_hold();
}

void unpin_release(void)
{
	pin_release();
	hp_uncancellable_end();
}

bool unpin_device_address(CUdeviceptr address)
{
	if (!state_active)
		return false;
	unpin_hold();
	unpin_range((const void *)address, 1);
	return true;
}

bool unpin_for_program(CUresult result)
{
	if (result != CUDA_ERROR_OUT_OF_MEMORY || !state_active)
		return false;
	size_t bytes = pin_unpin_all() + memory_give_back();
	return heap_trim(0) || bytes != 0;
}

/* Any thread. */
static _Atomic uint32_t asked;    /* the number of requests */
static _Atomic uint32_t answered; /* all requests up to this one are; a futex */
static _Atomic int waiting;       /* threads in fork_unpin() */

static void wait_for(uint32_t number, uint64_t end_ns)
{
	for (;;) {
		uint32_t seen = atomic_load(&answered);

		if ((int32_t)(seen - number) >= 0 || !hp_wait_until(&answered, seen, end_ns))
			return;
	}
}

void fork_unpin(void)
{
	uint64_t patience_ns = cost_fork_patience_ns(pin_bytes());

	/* In a signal handler, this thread may hold a lock that the housekeeper needs. */
	if (patience_ns == 0 || !hp_keeps(forked_unpinned) ||
	    (hp_locks_are_held() && hp_keeps(forked_in_a_lock)))
		return;
	atomic_fetch_add(&waiting, 1);
	uint32_t number = atomic_fetch_add(&asked, 1) + 1;
	if (housekeeper_call())
		wait_for(number, hp_now_ns() + patience_ns);
	atomic_fetch_sub(&waiting, 1);
	if (cost_fork_patience_ns(pin_bytes()) == 0)
		hp_count(forks_unpinned);
	else
		hp_count(forks_pinned);
}

bool fork_waits(void)
{
	return atomic_load(&waiting) != 0 && atomic_load(&asked) != atomic_load(&answered);
}

uint32_t fork_asked(void)
{
	return atomic_load(&asked);
}

void fork_answer(uint32_t number)
{
	if (atomic_exchange(&answered, number) != number)
		hp_wake(&answered, INT_MAX);
}

void fork_forget(void)
{
	atomic_store(&waiting, 0);
}
