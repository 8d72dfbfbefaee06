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

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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
		syscall(SYS_futex, &visiting, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void visit_forbid(uint64_t patience_ns)
{
	uint64_t begun_ns = 0;
	int saved = errno;

	atomic_fetch_add(&forbidders, 1);
	while (atomic_load(&visiting) != 0) {
		uint64_t now_ns = hp_now_ns();

		if (begun_ns == 0)
			begun_ns = now_ns;
		if (now_ns - begun_ns >= patience_ns)
			break;
		uint64_t left_ns = patience_ns - (now_ns - begun_ns);
		struct timespec left = { .tv_sec = (time_t)(left_ns / 1000000000u),
					 .tv_nsec = (long)(left_ns % 1000000000u) };
		syscall(SYS_futex, &visiting, FUTEX_WAIT_PRIVATE, 1, &left, NULL, 0);
	}
	errno = saved;
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
