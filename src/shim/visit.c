/*
 * visit.c - one visitor, any number of those who forbid.
 *
 * Each side says first what it wants and looks then at the other, so at least one sees the other.
 * No lock: none of ours is held across a driver call.
 */
#include "shim/visit.h"
#include "base/clock.h"
#include "base/protections.h"
#include "real/real.h"

#include <limits.h>
#include <stdatomic.h>

static _Atomic uint32_t visiting; /* a futex */
static _Atomic int forbidders;

/* For this thread, which is the only one to visit. */
static void relax_captures(void)
{
	static bool done;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (!done && REAL_HAS(cuThreadExchangeStreamCaptureMode))
		done = REAL(cuThreadExchangeStreamCaptureMode)(&mode) == CUDA_SUCCESS;
}

bool visit_begin(void)
{
	atomic_store(&visiting, 1);
	if (atomic_load(&forbidders) == 0 || !hp_keeps(visits_forbidden)) {
		relax_captures();
		return true;
	}
	visit_end();
	return false;
}

void visit_end(void)
{
	atomic_store(&visiting, 0);
	if (atomic_load(&forbidders) != 0)
		hp_wake(&visiting, INT_MAX);
}

void visit_forbid(uint64_t patience_ns)
{
	uint64_t end_ns = UINT64_MAX;

	atomic_fetch_add(&forbidders, 1);
	if (atomic_load(&visiting) != 0 && patience_ns != UINT64_MAX)
		end_ns = hp_now_ns() + patience_ns;
	while (atomic_load(&visiting) != 0 && hp_wait_until(&visiting, 1, end_ns))
		continue;
}

void visit_allow(void)
{
	atomic_fetch_sub(&forbidders, 1);
}

void visit_after_fork_child(void)
{
	atomic_store(&visiting, 0);
	atomic_store(&forbidders, 0);
}
