/*
 * pin.c - whether blocks may be pinned, the budget, and the two driver calls that pin and unpin.
 *
 * Both calls would break a stream capture in progress, also in this thread: real/relaxed.h prevents
 * that.
 */
#include "pin/pin.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/cache.h"
#include "heap/map.h"
#include "real/relaxed.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

/* A limit of pinned memory lasts, and finding out costs as much as pinning up to the limit. */
#define PAUSE_NS ((uint64_t)10000000000)

enum { PINNING_OFF, PINNING_ON, PINNING_ENDED };

/* Any thread. */
static _Atomic int pinning; /* one of the above */
static _Atomic bool under_pressure;
static _Atomic int holds;                /* calls of pin_hold() without their ends */
static _Atomic uint64_t paused_until_ns; /* after a refusal, by hp_now_coarse_ns(); 0: never */

static _Atomic bool queue_is_due;
static _Atomic bool has_thread;
_Atomic uint32_t pin_bell;

_Atomic(pin_told_fn) pin_told;

static _Atomic uint64_t budget; /* written once; any thread reads it */

/* Changed under the lock pin, unless a comment says otherwise; any thread reads the sums. */
static _Atomic size_t pinned_now;  /* of blocks, in bytes; any thread reduces it */
static _Atomic size_t staging_now; /* staging memory, pinned or soon; any thread reduces it */

void pin_start(uint64_t most)
{
	int before = atomic_load(&pinning);

	atomic_store(&budget, most);
	if (before != PINNING_ENDED)
		atomic_compare_exchange_strong(&pinning, &before,
					       most != 0 ? PINNING_ON : PINNING_OFF);
}

uint64_t pin_budget(void)
{
	return atomic_load_explicit(&budget, memory_order_relaxed);
}

void pin_stop(const char *why)
{
	if (atomic_exchange(&pinning, PINNING_ENDED) == PINNING_ON)
		hp_debug("nothing more is pinned: %s", why);
}

/* Counts first; the caller then looks at words.  A thread that pins does both in the other order.
 */
void pin_hold(void)
{
	atomic_fetch_add(&holds, 1);
}

void pin_release(void)
{
	atomic_fetch_sub(&holds, 1);
}

bool pin_is_held(void)
{
	return atomic_load(&holds) != 0 && hp_keeps(capture_pins_nothing);
}

bool pin_allowed(void)
{
	uint64_t until = atomic_load_explicit(&paused_until_ns, memory_order_relaxed);

	return atomic_load(&pinning) == PINNING_ON &&
	       !atomic_load_explicit(&under_pressure, memory_order_relaxed) && !pin_is_held() &&
	       (until == 0 || hp_now_coarse_ns() >= until);
}

size_t pin_room_left(void)
{
	uint64_t most = atomic_load_explicit(&budget, memory_order_relaxed);
	size_t now = atomic_load_explicit(&pinned_now, memory_order_relaxed) +
		     atomic_load_explicit(&staging_now, memory_order_relaxed);

	return now < most ? most - now : 0;
}

bool pin_reserve(size_t room)
{
	assert(hp_lock_held(HP_LOCK_pin));
	if (!pin_allowed())
		return false;
	/* Read once, because memory is given back without the lock. */
	size_t left = pin_room_left();
	if (room <= left || !hp_keeps(pin_budget)) {
		pinned_now += room;
		return true;
	}
	hp_count(pins_over_budget);
	if (room + staging_now <= budget)
		heap_set_reclaim_target(room - left);
	return false;
}

bool pin_take_staging(size_t bytes)
{
	hp_lock(HP_LOCK_pin);
	size_t left = pin_room_left();
	bool may = staging_now + bytes <= budget / 2, fits = bytes <= left;
	bool taken = (may && fits) || !hp_keeps(staging_budget);

	if (taken)
		staging_now += bytes;
	else if (may)
		heap_set_reclaim_target(bytes - left);
	hp_unlock(HP_LOCK_pin);
	return taken;
}

void pin_give_staging(size_t bytes)
{
	atomic_fetch_sub(&staging_now, bytes);
}

void pin_room_ended(size_t room)
{
	atomic_fetch_sub(&pinned_now, room);
}

void pin_tell(const struct block *block, bool begins, uint64_t ns)
{
	pin_told_fn tell = atomic_load_explicit(&pin_told, memory_order_acquire);

	if (tell != NULL)
		tell(atomic_load_explicit(&block->site, memory_order_relaxed), begins,
		     atomic_load_explicit(&block->size, memory_order_relaxed), ns);
}

void pin_refused(void)
{
	atomic_store(&paused_until_ns, hp_now_coarse_ns() + PAUSE_NS);
}

bool pin_crosses(const void *address, size_t bytes)
{
	for (struct block *block = NULL; (block = range_next(block, address, bytes)) != NULL;)
		if (block_may_be_pinned(block) && !range_covers(block, address, bytes))
			return true;
	return false;
}

void pin_after_fork_child(void)
{
	pin_stop("this is the child of a fork");
	atomic_store(&holds, 0);
	atomic_store(&has_thread, false);
	atomic_store(&queue_is_due, false);
	atomic_store(&pinned_now, 0);
}

void pin_set_thread(void)
{
	atomic_store(&has_thread, true);
}

bool pin_has_thread(void)
{
	return atomic_load_explicit(&has_thread, memory_order_relaxed);
}

bool pin_has_queued(void)
{
	return atomic_load(&queue_is_due);
}

void pin_set_queued(bool due)
{
	if (!atomic_exchange(&queue_is_due, due) && due)
		hp_ring(&pin_bell);
}

void pin_set_pressure(bool pressure)
{
	atomic_store(&under_pressure, pressure);
}

size_t pin_bytes(void)
{
	return pinned_now;
}

/*
 * The process that registers.  A child of clone() runs no fork() handler, and its driver calls
 * would act on the memory of its parent.
 */
static _Atomic pid_t home;

bool registration_possible(uintptr_t *ret_context)
{
	CUcontext context = NULL;
	pid_t self = getpid(), nobody = 0;

	if (!atomic_compare_exchange_strong(&home, &nobody, self) && nobody != self)
		return false;
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return false;
	*ret_context = (uintptr_t)context;
	return true;
}

/*
 * Nothing is pinned any more if another party registers memory of the heap, or ends registrations,
 * and hotpin does not see its calls.
 */
static void look_for_others(CUresult result)
{
	if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED ||
	    result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
		pin_stop("a block has been registered or unregistered by another party");
}

CUresult registration_begin(uintptr_t base, size_t bytes)
{
	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	CUresult result =
		REAL(cuMemHostRegister_v2)((void *)base, bytes, CU_MEMHOSTREGISTER_PORTABLE);

	relaxed_end(&relaxed);
	look_for_others(result);
	errno = saved;
	return result;
}

/*
 * Makes `owner` current if it is not.  The thread may have no context, one with an error, or one
 * that another thread has destroyed.  True: leave() must follow.
 */
static bool enter(uintptr_t owner)
{
	CUcontext current = NULL;

	return (REAL(cuCtxGetCurrent)(&current) != CUDA_SUCCESS || current != (CUcontext)owner) &&
	       REAL(cuCtxPushCurrent_v2)((CUcontext)owner) == CUDA_SUCCESS;
}

static void leave(void)
{
	CUcontext popped;

	REAL(cuCtxPopCurrent_v2)(&popped);
}

/* A registration also ends with its context and with the driver. */
static bool is_gone(CUresult result)
{
	return result == CUDA_SUCCESS || result == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED ||
	       result == CUDA_ERROR_DEINITIALIZED;
}

int registration_end(const struct block *block, uintptr_t owner)
{
	if (getpid() != atomic_load(&home) && hp_keeps(clone_calls_no_driver))
		return -EBUSY;

	int saved = errno;
	struct relaxed relaxed = relaxed_begin();
	bool entered = enter(owner);
	CUresult result = REAL(cuMemHostUnregister)((void *)block->base);

	if (entered)
		leave();
	/* The owner may have an error; the thread's own context may not. */
	if (!is_gone(result))
		result = REAL(cuMemHostUnregister)((void *)block->base);
	if (result != CUDA_SUCCESS)
		hp_debug("unpinning %p: CUDA error %d", (void *)block->base, (int)result);
	relaxed_end(&relaxed);
	/* A thread that has left a registration by longjmp() cannot know whether it was made. */
	if (atomic_load(&block->word) & WORD_PINNED)
		look_for_others(result);
	errno = saved;
	return is_gone(result) ? 0 : -EBUSY;
}
