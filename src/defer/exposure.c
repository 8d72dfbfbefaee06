/*
 * exposure.c - a bit for each reason; only memory that the program pinned can cease to be one.
 *
 * Bits are raised before the driver sees the call, so no work that is enqueued after it can be
 * passed over.
 */
#include "defer/exposure.h"
#include "base/counters.h"
#include "base/protections.h"

/* Of CUDA 12.1; older headers lack the name. */
#define CTX_SYNC_MEMOPS 0x80u

_Atomic uint32_t exposure_now;

/* Pieces of memory that the program has pinned. */
static _Atomic int pinned;

/* Each reason is a protection of its own; printing is looked for elsewhere. */
static bool keeps(enum real_sight how)
{
	switch (how) {
	case REAL_SEEN_PINNED:
		return hp_keeps(exposed_pinned);
	case REAL_SEEN_MANAGED:
		return hp_keeps(exposed_managed);
	case REAL_SEEN_GRAPH:
		return hp_keeps(exposed_graph);
	case REAL_SEEN_CALLBACK:
		return hp_keeps(exposed_callback);
	case REAL_SEEN_SHARED:
		return hp_keeps(exposed_shared);
	case REAL_SEEN_EXTERNAL:
		return hp_keeps(exposed_external);
	case REAL_SEEN_MEMORY_OPS:
		return hp_keeps(exposed_memory_ops);
	case REAL_SEEN_SYNC_MEMOPS:
		return hp_keeps(exposed_sync_memops);
	case REAL_SEEN_GREEN:
		return hp_keeps(exposed_green);
	case REAL_SEEN_PAST_US:
		return hp_keeps(exposed_past_us);
	default:
		return true;
	}
}

void exposure_raise(enum real_sight how)
{
	if (how != REAL_UNSEEN && keeps(how))
		atomic_fetch_or(&exposure_now, 1u << how);
}

void exposure_flags(unsigned flags)
{
	if (flags & CTX_SYNC_MEMOPS)
		exposure_raise(REAL_SEEN_SYNC_MEMOPS);
}

void exposure_pinned(int by)
{
	const uint32_t bit = 1u << REAL_SEEN_PINNED;
	int before = atomic_load(&pinned);

	/* Never below none, whatever was freed that we did not see come. */
	while (!atomic_compare_exchange_weak(&pinned, &before, before + by > 0 ? before + by : 0))
		continue;
	if (before + by > 0 && keeps(REAL_SEEN_PINNED)) {
		atomic_fetch_or(&exposure_now, bit);
		return;
	}
	atomic_fetch_and(&exposure_now, ~bit);
	/* Another thread may have pinned some between the two. */
	if (atomic_load(&pinned) > 0 && keeps(REAL_SEEN_PINNED))
		atomic_fetch_or(&exposure_now, bit);
}

void exposure_count(void)
{
	static const enum hp_counter counters[REAL_SIGHT_COUNT] = {
		[REAL_SEEN_PINNED] = HP_COUNT_kept_pinned,
		[REAL_SEEN_MANAGED] = HP_COUNT_kept_managed,
		[REAL_SEEN_GRAPH] = HP_COUNT_kept_graph,
		[REAL_SEEN_CALLBACK] = HP_COUNT_kept_callback,
		[REAL_SEEN_SHARED] = HP_COUNT_kept_shared,
		[REAL_SEEN_EXTERNAL] = HP_COUNT_kept_external,
		[REAL_SEEN_MEMORY_OPS] = HP_COUNT_kept_memory_ops,
		[REAL_SEEN_SYNC_MEMOPS] = HP_COUNT_kept_sync_memops,
		[REAL_SEEN_PRINTF] = HP_COUNT_kept_printf,
		[REAL_SEEN_GREEN] = HP_COUNT_kept_green,
		[REAL_SEEN_PAST_US] = HP_COUNT_kept_past_us,
	};
	uint32_t bits = atomic_load_explicit(&exposure_now, memory_order_relaxed);

	if (bits != 0)
		atomic_fetch_add_explicit(&hp_counters[counters[__builtin_ctz(bits)]], 1,
					  memory_order_relaxed);
}

void exposure_after_fork_child(void)
{
	atomic_store(&exposure_now, 1u << REAL_SEEN_PAST_US);
}
