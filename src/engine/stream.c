/*
 * stream.c - calls the driver in the relaxed capture mode, which keeps captures of other threads
 * valid.
 */
#include "engine/stream.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/state.h"
#include "real/relaxed.h"

#include <limits.h>

/*
 * Threads between enqueue_begin() and enqueue_end(); a futex.  A thread counts itself and then
 * reads the count of captures; a capture does it the other way round.
 */
static _Atomic uint32_t inside;

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

bool stream_is_captured(CUstream stream, bool per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result = REAL_ON(per_thread, cuStreamIsCapturing)(stream, &status);

	hp_count(asked_capture);
	return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool stream_is_busy(CUstream stream, bool per_thread)
{
	struct relaxed relaxed = relaxed_begin();
	CUresult result = REAL_ON(per_thread, cuStreamQuery)(stream);

	relaxed_end(&relaxed);
	hp_count(asked_stream);
	return result == CUDA_ERROR_NOT_READY;
}

bool stream_is_legacy(CUstream stream, bool per_thread)
{
	return stream == NULL ? !per_thread : stream == CU_STREAM_LEGACY;
}

bool stream_follows_legacy(CUstream stream, bool per_thread)
{
	unsigned flags = 0;

	if (stream == NULL)
		return per_thread;
	if (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)
		return stream == CU_STREAM_PER_THREAD;
	return REAL(cuStreamGetFlags)(stream, &flags) != CUDA_SUCCESS ||
	       (flags & CU_STREAM_NON_BLOCKING) == 0;
}

bool stream_is_behind_legacy(CUstream stream, bool per_thread)
{
	if (!hp_keeps(held_by_legacy) || !stream_follows_legacy(stream, per_thread))
		return false;
	/* A query of the legacy stream would invalidate a capture; captures that begin now wait. */
	if (!enqueue_begin())
		return true;
	bool behind = stream_is_busy(CU_STREAM_LEGACY, false);
	enqueue_end();
	return behind;
}

CUresult stream_wait(CUstream stream, bool per_thread)
{
	struct relaxed relaxed = relaxed_begin();
	CUresult result = REAL_ON(per_thread, cuStreamSynchronize)(stream);

	/* If the stream cannot be waited for, waits for all streams: the copy must be complete. */
	if (result != CUDA_SUCCESS)
		result = REAL(cuCtxSynchronize)();
	relaxed_end(&relaxed);
	hp_count(copies_waited);
	return result;
}
