/*
 * capture.c - while work is being captured into a graph, nothing is pinned.
 *
 * Registering memory during a capture of mode GLOBAL would invalidate it, whichever thread does
 * it.  Begins and real ends are counted, which covers all threads and costs copies nothing.  A
 * capture that dies with its context stays counted: nothing is pinned any more, which is safe.
 */
#include "shim/driver/capture.h"
#include "base/cancel.h"
#include "base/parse.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/section.h"
#include "engine/staging.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "pin/pin.h"
#include "shim/driver/enter.h"

static void before_begin(void)
{
	if (!state_active())
		return;
	hp_uncancellable_begin();
	section_block(UINT64_MAX);
	pin_hold();
	atomic_fetch_add(&state_captures, 1);
	staging_settle();
	/* A copy that came back early between the gate and here. */
	defer_join();
}

static void uncount(void)
{
	int count = hp_keeps(capture_ends) ? atomic_load(&state_captures) : 0;

	/* Not below none: an end and a destruction of one stream may meet. */
	while (count > 0)
		if (atomic_compare_exchange_weak(&state_captures, &count, count - 1)) {
			pin_release();
			section_unblock();
			return;
		}
}

/*
 * The streams that captures began on.  One that takes part because of an event captures, too, and
 * may go before the capture does.  What finds no place here, and goes without an end, stays
 * counted.
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

bool shim_capture_began_on(CUstream stream)
{
	return replace_origin(stream, stream) || !hp_keeps(capture_outlives_others);
}

void shim_capture_ended(CUstream stream)
{
	if (!is_special(stream))
		replace_origin(stream, NULL);
	uncount();
}

static CUresult begun(CUresult result, CUstream stream)
{
	if (!state_active())
		return result;
	if (result != CUDA_SUCCESS)
		uncount();
	else if (!is_special(stream))
		replace_origin(NULL, stream);
	hp_uncancellable_end();
	return result;
}

HP_EXPORT CUresult cuStreamBeginCapture(CUstream stream)
{
	SHIM_ENTER(REAL_ROW_cuStreamBeginCapture);
	before_begin();
	return begun(REAL(cuStreamBeginCapture)(stream), stream);
}

HP_EXPORT CUresult cuStreamBeginCapture_ptsz(CUstream stream)
{
	SHIM_ENTER(REAL_ROW_cuStreamBeginCapture_ptsz);
	before_begin();
	return begun(REAL(cuStreamBeginCapture_ptsz)(stream), stream);
}

HP_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	SHIM_ENTER(REAL_ROW_cuStreamBeginCapture_v2);
	before_begin();
	return begun(REAL(cuStreamBeginCapture_v2)(stream, mode), stream);
}

HP_EXPORT CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
	SHIM_ENTER(REAL_ROW_cuStreamBeginCapture_v2_ptsz);
	before_begin();
	return begun(REAL(cuStreamBeginCapture_v2_ptsz)(stream, mode), stream);
}

#if CUDA_VERSION >= 12030
#define TO_GRAPH(name)                                                                            \
	HP_EXPORT CUresult name(CUstream stream, CUgraph graph, const CUgraphNode *dependencies,  \
				const CUgraphEdgeData *data, size_t count,                        \
				CUstreamCaptureMode mode)                                         \
	{                                                                                         \
		SHIM_ENTER(REAL_ROW_##name);                                                      \
		before_begin();                                                                   \
		return begun(REAL(name)(stream, graph, dependencies, data, count, mode), stream); \
	}
TO_GRAPH(cuStreamBeginCaptureToGraph)
TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz)
#undef TO_GRAPH
#endif

/* An end from the wrong thread, or of a stream that does not capture, ends nothing. */
#define END(name, own)                                                                \
	HP_EXPORT CUresult name(CUstream stream, CUgraph *ret)                        \
	{                                                                             \
		SHIM_ENTER(REAL_ROW_##name);                                          \
		bool captured = state_active() && atomic_load(&state_captures) > 0 && \
				stream_is_captured(stream, own);                      \
		if (captured)                                                         \
			hp_uncancellable_begin();                                     \
		CUresult result = REAL(name)(stream, ret);                            \
		if (captured && !stream_is_captured(stream, own))                     \
			shim_capture_ended(stream);                                   \
		if (captured)                                                         \
			hp_uncancellable_end();                                       \
		return result;                                                        \
	}
END(cuStreamEndCapture, false)
END(cuStreamEndCapture_ptsz, true)
#undef END
