/*
 * capture.c - counts captures, and remembers the streams that they began on.
 */
#include "engine/capture.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/defer.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "pin/pin.h"

#define PATIENCE_NS 1000000000u

/* Added to the count by capture_unseen(); from then on no capture is uncounted. */
#define UNSEEN      (1 << 28)

/*
 * Waits for the threads that enqueue on the legacy stream; no other thread begins that any more.
 * Recording an event there invalidates captures on streams that it is ordered with, even in the
 * relaxed mode (error 906; H200, driver 580.159).  The wait is bounded, because the copy may wait
 * for a kernel that waits for this thread.
 */
static void wait_for_legacy_stream(void)
{
	if (hp_keeps(plain_during_captures))
		enqueue_wait(hp_now_ns() + PATIENCE_NS);
	/* Another thread's copy may have returned early since this call passed the gate. */
	defer_join();
}

void capture_begin(CUstream stream, bool per_thread)
{
	if (!state_active)
		return;
	hp_uncancellable_begin();
	pin_hold();
	housekeeper_wait(false, UINT64_MAX);
	atomic_fetch_add(&state_captures, 1);
	if (stream_follows_legacy(stream, per_thread))
		wait_for_legacy_stream();
}

void capture_unseen(void)
{
	if (!state_active || atomic_load(&state_captures) >= UNSEEN || !hp_keeps(unknown_captures))
		return;
	pin_hold();
	housekeeper_wait(false, UINT64_MAX);
	atomic_fetch_add(&state_captures, UNSEEN);
	wait_for_legacy_stream();
}

static void uncount(void)
{
	int count = hp_keeps(capture_ends) ? atomic_load(&state_captures) : 0;

	/* Not below zero: one thread may end the capture while another destroys its stream. */
	while (count > 0 && count < UNSEEN)
		if (atomic_compare_exchange_weak(&state_captures, &count, count - 1)) {
			pin_release();
			return;
		}
}

/*
 * The streams that captures began on.  Other streams join a capture by an event, and may be
 * destroyed before it ends.  A capture that finds no entry here stays counted if it ends with its
 * stream.  Any thread.
 */
static CUstream _Atomic origins[16];

static bool is_special(CUstream stream)
{
	return stream == NULL || stream == CU_STREAM_PER_THREAD;
}

static bool replace_origin(CUstream old, CUstream by)
{
	for (size_t i = 0; i < HP_LEN(origins); i++) {
		CUstream expected = old;

		if (atomic_compare_exchange_strong(&origins[i], &expected, by))
			return true;
	}
	return false;
}

bool capture_ends_with(CUstream stream)
{
	return state_active && atomic_load(&state_captures) > 0 &&
	       stream_is_captured(stream, false) &&
	       (replace_origin(stream, stream) || !hp_keeps(capture_outlives_others));
}

void capture_ended(CUstream stream)
{
	if (!is_special(stream))
		replace_origin(stream, NULL);
	uncount();
}

CUresult capture_begun(CUresult result, CUstream stream)
{
	if (!state_active)
		return result;
	if (result != CUDA_SUCCESS)
		uncount();
	else if (!is_special(stream))
		replace_origin(NULL, stream);
	hp_uncancellable_end();
	return result;
}
