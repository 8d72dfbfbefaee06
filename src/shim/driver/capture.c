/*
 * capture.c - the exported functions that begin and end stream captures.
 */
#include "engine/capture.h"
#include "base/thread.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "shim/driver/enter.h"

#define BEGIN(name, own, parameters, arguments)                     \
	HP_EXPORT CUresult name parameters                          \
	{                                                           \
		SHIM_ENTER(REAL_ROW_##name);                        \
		capture_begin(stream, own);                         \
		return capture_begun(REAL(name) arguments, stream); \
	}
BEGIN(cuStreamBeginCapture, false, (CUstream stream), (stream))
BEGIN(cuStreamBeginCapture_ptsz, true, (CUstream stream), (stream))
BEGIN(cuStreamBeginCapture_v2, false, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2_ptsz, true, (CUstream stream, CUstreamCaptureMode mode),
      (stream, mode))
#define TO_GRAPH(name, own)                                                          \
	BEGIN(name, own,                                                             \
	      (CUstream stream, CUgraph graph, const CUgraphNode *dependencies,      \
	       const CUgraphEdgeData *data, size_t count, CUstreamCaptureMode mode), \
	      (stream, graph, dependencies, data, count, mode))
TO_GRAPH(cuStreamBeginCaptureToGraph, false)
TO_GRAPH(cuStreamBeginCaptureToGraph_ptsz, true)
#undef TO_GRAPH
#undef BEGIN

/* A call from the wrong thread, or for a stream that is not captured, ends no capture. */
#define END(name, own)                                                              \
	HP_EXPORT CUresult name(CUstream stream, CUgraph *ret)                      \
	{                                                                           \
		SHIM_ENTER(REAL_ROW_##name);                                        \
		bool captured = state_active && atomic_load(&state_captures) > 0 && \
				stream_is_captured(stream, own);                    \
		if (captured)                                                       \
			hp_uncancellable_begin();                                   \
		CUresult result = REAL(name)(stream, ret);                          \
		if (captured && !stream_is_captured(stream, own))                   \
			capture_ended(stream);                                      \
		if (captured)                                                       \
			hp_uncancellable_end();                                     \
		return result;                                                      \
	}
END(cuStreamEndCapture, false)
END(cuStreamEndCapture_ptsz, true)
#undef END
