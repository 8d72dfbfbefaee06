/*
 * capture.c - while work is being captured into a graph, nothing is pinned.
 *
 * Registering memory during a capture of mode GLOBAL would invalidate it, whichever thread does
 * it.  Begins and real ends are counted, which covers all threads and costs copies nothing.  A
 * capture that dies with its context stays counted: nothing is pinned any more, which is safe.
 */
#include "host/pin.h"
#include "base/protections.h"
#include "shim/copy.h"
#include "shim/deferring.h"
#include "shim/visit.h"

static void before_begin(void)
{
	if (!shim_active())
		return;
	visit_forbid(UINT64_MAX);
	pin_hold();
	atomic_fetch_add(&shim_captures, 1);
	shim_stage_settle();
	/* A copy that came back early between the gate and here. */
	shim_defer_join();
}

void shim_capture_ended(void)
{
	int count = hp_keeps(capture_ends) ? atomic_load(&shim_captures) : 0;

	/* Not below none: an end and a destruction of one stream may meet. */
	while (count > 0)
		if (atomic_compare_exchange_weak(&shim_captures, &count, count - 1)) {
			pin_release();
			visit_allow();
			return;
		}
}

static CUresult begun(CUresult result)
{
	if (result != CUDA_SUCCESS && shim_active())
		shim_capture_ended();
	return result;
}

HP_EXPORT CUresult cuStreamBeginCapture(CUstream stream)
{
	shim_enter(REAL_ROW_cuStreamBeginCapture);
	before_begin();
	return begun(REAL(cuStreamBeginCapture)(stream));
}

HP_EXPORT CUresult cuStreamBeginCapture_ptsz(CUstream stream)
{
	shim_enter(REAL_ROW_cuStreamBeginCapture_ptsz);
	before_begin();
	return begun(REAL(cuStreamBeginCapture_ptsz)(stream));
}

HP_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	shim_enter(REAL_ROW_cuStreamBeginCapture_v2);
	before_begin();
	return begun(REAL(cuStreamBeginCapture_v2)(stream, mode));
}

HP_EXPORT CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode)
{
	shim_enter(REAL_ROW_cuStreamBeginCapture_v2_ptsz);
	before_begin();
	return begun(REAL(cuStreamBeginCapture_v2_ptsz)(stream, mode));
}

#if CUDA_VERSION >= 12030
#define TO_GRAPH(name)                                                                           \
	HP_EXPORT CUresult name(CUstream stream, CUgraph graph, const CUgraphNode *dependencies, \
				const CUgraphEdgeData *data, size_t count,                       \
				CUstreamCaptureMode mode)                                        \
	{                                                                                        \
		shim_enter(REAL_ROW_##name);                                                     \
		before_begin();                                                                  \
		return begun(REAL(name)(stream, graph, dependencies, data, count, mode));        \
	}
TO_GRAPH(cuStreamBeginCaptureToGraph)
TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz)
#undef TO_GRAPH
#endif

/* An end from the wrong thread, or of a stream that does not capture, ends nothing. */
#define END(name, own)                                                              \
	HP_EXPORT CUresult name(CUstream stream, CUgraph *ret)                      \
	{                                                                           \
		shim_enter(REAL_ROW_##name);                                        \
		bool captured = shim_active() && atomic_load(&shim_captures) > 0 && \
				shim_stream_captures(stream, own);                  \
		CUresult result = REAL(name)(stream, ret);                          \
		if (captured && !shim_stream_captures(stream, own))                 \
			shim_capture_ended();                                       \
		return result;                                                      \
	}
END(cuStreamEndCapture, false)
END(cuStreamEndCapture_ptsz, true)
#undef END
