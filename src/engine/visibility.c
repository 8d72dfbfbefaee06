/*
 * visibility.c - a bit for each rule.  Only the rule `pinned` can cease to apply.
 *
 * Bits are set before the driver's call, so they cover all work that is enqueued after it.
 */
#include "engine/visibility.h"
#include "base/counters.h"
#include "base/protections.h"

/* Of CUDA 12.1; older headers lack the name. */
#define CTX_SYNC_MEMOPS 0x80u

_Atomic uint32_t visibility_now;

/* Allocations and registrations of pinned memory by the program. */
static _Atomic int pinned;

void visibility_raise(enum real_visibility how)
{
	if (how != REAL_UNSEEN && hp_keeps(visible))
		atomic_fetch_or(&visibility_now, 1u << how);
}

void visibility_flags(unsigned flags)
{
	if (flags & CTX_SYNC_MEMOPS)
		visibility_raise(REAL_SEEN_SYNC_MEMOPS);
}

void visibility_pinned(int by)
{
	const uint32_t bit = 1u << REAL_SEEN_PINNED;
	int before = atomic_load(&pinned);

	/* Never below 0: memory may be freed whose allocation hotpin did not see. */
	while (!atomic_compare_exchange_weak(&pinned, &before, before + by > 0 ? before + by : 0))
		continue;
	if (before + by > 0 && hp_keeps(visible)) {
		atomic_fetch_or(&visibility_now, bit);
		return;
	}
	atomic_fetch_and(&visibility_now, ~bit);
	/* Another thread may have pinned memory between the two steps. */
	if (atomic_load(&pinned) > 0 && hp_keeps(visible))
		atomic_fetch_or(&visibility_now, bit);
}

void visibility_count(void)
{
	uint32_t bits = atomic_load_explicit(&visibility_now, memory_order_relaxed);

	if (bits != 0)
		hp_count_one(real_visibility_counters[__builtin_ctz(bits)]);
}

void visibility_after_fork_child(void)
{
	atomic_store(&visibility_now, 1u << REAL_SEEN_UNTRACKED);
}
