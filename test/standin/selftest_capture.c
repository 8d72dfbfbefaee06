/*
 * selftest_capture.c - tests of captures, of calls that invalidate them, and of graphs.
 */
#include "selftest.h"

#include <pthread.h>

static CUgraph finish(CUstream s, CUresult expected)
{
	CUgraph graph = (CUgraph)1;

	CHECK_EQ(cuStreamEndCapture(s, &graph), expected);
	return graph;
}

TEST(a_graph_reads_host_memory_at_replay)
{
	unsigned char *p = pages(4096, 1);
	CUgraphExec exec;
	CUdeviceptr at;
	CUgraph graph;
	CUstream s;
	size_t n = 0;

	start();
	at = device(4096);
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(cuMemsetD8(at, 0, 4096), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
	CHECK_EQ(cuMemcpyHtoDAsync(at, p, 4096, s), 0);
	CHECK_EQ(cuMemsetD8Async(at + 1, 9, 1, s), 0);
	CHECK_EQ(standin_pending(s), 0);
	graph = finish(s, CUDA_SUCCESS);
	CHECK_EQ(cuGraphGetNodes(graph, NULL, &n), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(cuGraphInstantiate(&exec, graph, 0), 0);
	CHECK_EQ(cuGraphDestroy(graph), 0);
	CHECK_EQ(peek(at), 0);
	for (int i = 3; i < 5; i++) {
		CHECK_EQ(cuGraphLaunch(exec, s), 0);
		p[0] = (unsigned char)i;
		CHECK_EQ(standin_pending(s), 2);
		CHECK_EQ(cuStreamSynchronize(s), 0);
		CHECK_EQ(peek(at), i);
		CHECK_EQ(peek(at + 1), 9);
	}
	CHECK_EQ(cuGraphExecDestroy(exec), 0);
	CHECK_EQ(cuGraphLaunch(exec, s), CUDA_ERROR_INVALID_VALUE);
}

TEST(unsafe_calls_break_a_global_capture)
{
	unsigned char *p = pages(4096, 1);
	CUstreamCaptureStatus status;
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
	CHECK_EQ(cuStreamIsCapturing(s, &status), 0);
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(standin_registrations(), 0);
	CHECK_EQ(cuStreamIsCapturing(s, &status), 0);
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	CHECK_EQ(cuMemsetD8Async(0, 0, 0, s), 0);
	CHECK(finish(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) == NULL);
	CHECK_EQ(cuStreamIsCapturing(s, &status), 0);
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(cuStreamEndCapture(s, &(CUgraph){ 0 }), CUDA_ERROR_ILLEGAL_STATE);
}

TEST(a_relaxed_thread_may_do_as_it_likes)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	unsigned char *p = pages(4096, 1);
	CUstream s;

	start();
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
	CHECK_EQ(cuThreadExchangeStreamCaptureMode(&mode), 0);
	CHECK_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(cuMemHostUnregister(p), 0);
	/* The stream itself still cannot be queried. */
	CHECK_EQ(cuStreamQuery(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(finish(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) == NULL);
}

static void *elsewhere(void *ctx)
{
	CUdeviceptr at;
	CUresult rc;

	cuCtxSetCurrent((CUcontext)ctx);
	rc = cuMemAlloc(&at, 16);
	return (void *)(uintptr_t)rc;
}

static CUresult alloc_in_another_thread(CUcontext ctx)
{
	pthread_t thread;
	void *rc;

	pthread_create(&thread, NULL, elsewhere, ctx);
	pthread_join(thread, &rc);
	return (CUresult)(uintptr_t)rc;
}

TEST(modes_decide_about_other_threads)
{
	CUcontext ctx = start();
	CUstream s = stream(CU_STREAM_NON_BLOCKING);

	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), 0);
	CHECK_EQ(alloc_in_another_thread(ctx), 0);
	CHECK(finish(s, 0) != NULL);
	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	CHECK_EQ(cuMemAlloc(&(CUdeviceptr){ 0 }, 16), 0);
	CHECK(finish(s, 0) != NULL);
	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
	CHECK_EQ(alloc_in_another_thread(ctx), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK(finish(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) == NULL);
}

TEST(the_legacy_stream_during_a_blocking_capture)
{
	CUstreamCaptureStatus status;
	unsigned char byte = 1;
	CUdeviceptr at;
	CUstream s;

	start();
	at = device(16);
	s = stream(CU_STREAM_DEFAULT);
	CHECK_EQ(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_RELAXED),
		 CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	CHECK_EQ(cuStreamIsCapturing(NULL, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK_EQ(cuStreamIsCapturing(s, &status), 0);
	CHECK_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	CHECK_EQ(cuMemcpyHtoD(at, &byte, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK(finish(s, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) == NULL);
	CHECK_EQ(cuMemcpyHtoD(at, &byte, 1), 0);
}

TEST(an_event_of_a_whole_context_breaks_captures)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUcontext context;
	CUstream stream;
	CUgraph graph;
	CUevent event;

	start();
	CHECK_EQ(cuCtxGetCurrent(&context), 0);
	CHECK_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), 0);
	CHECK_EQ(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), 0);
	CHECK_EQ(cuThreadExchangeStreamCaptureMode(&mode), 0);
	CHECK_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), 0);
	CHECK_EQ(cuCtxRecordEvent(context, event), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK_EQ(cuCtxRecordEvent(context, event), 0);
}

TEST(captures_fork_and_must_join)
{
	CUevent fork_event, join_event;
	CUdeviceptr at;
	CUgraph graph;
	CUstream a, b;
	size_t n = 0;

	start();
	at = device(16);
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuEventCreate(&fork_event, 0), 0);
	CHECK_EQ(cuEventCreate(&join_event, 0), 0);
	for (int joined = 0; joined < 2; joined++) {
		CHECK_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
		CHECK_EQ(cuMemsetD8Async(at, 1, 1, a), 0);
		CHECK_EQ(cuEventRecord(fork_event, a), 0);
		CHECK_EQ(cuStreamWaitEvent(b, fork_event, 0), 0);
		CHECK_EQ(cuMemsetD8Async(at, 2, 1, b), 0);
		CHECK_EQ(cuEventRecord(join_event, b), 0);
		if (joined)
			CHECK_EQ(cuStreamWaitEvent(a, join_event, 0), 0);
		graph = finish(a, joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	}
	CHECK_EQ(cuGraphGetNodes(graph, NULL, &n), 0);
	CHECK_EQ(n, 2);
	CHECK_EQ(cuEventQuery(join_event), CUDA_ERROR_CAPTURED_EVENT);
	CHECK_EQ(cuEventRecord(join_event, b), 0);
	CHECK_EQ(cuEventSynchronize(join_event), 0);
}

TEST(captures_are_isolated)
{
	CUevent outside;
	CUstream a, b;

	start();
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuEventCreate(&outside, 0), 0);
	CHECK_EQ(cuEventRecord(outside, b), 0);
	CHECK_EQ(cuStreamBeginCapture(a, CU_STREAM_CAPTURE_MODE_GLOBAL), 0);
	CHECK_EQ(cuStreamWaitEvent(a, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	CHECK(finish(a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED) == NULL);
}

TEST(graphs_built_manually)
{
	CUDA_MEMSET_NODE_PARAMS fill = { .value = 4, .elementSize = 1, .width = 8, .height = 1 };
	CUDA_MEMCPY3D copy = { 0 };
	unsigned char out[8] = { 0 };
	CUgraphNode first, second;
	CUgraphExec exec;
	CUcontext ctx = start();
	CUgraph graph;

	fill.dst = device(8);
	copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
	copy.srcDevice = fill.dst;
	copy.dstMemoryType = CU_MEMORYTYPE_HOST;
	copy.dstHost = out;
	copy.WidthInBytes = 8;
	copy.Height = 1;
	copy.Depth = 1;
	CHECK_EQ(cuGraphCreate(&graph, 0), 0);
	CHECK_EQ(cuGraphAddMemsetNode(&first, graph, NULL, 0, &fill, ctx), 0);
	CHECK_EQ(cuGraphAddMemcpyNode(&second, graph, &first, 1, &copy, ctx), 0);
	CHECK_EQ(cuGraphInstantiate(&exec, graph, 0), 0);
	CHECK_EQ(cuGraphLaunch(exec, NULL), 0);
	CHECK_EQ(out[7], 0);
	CHECK_EQ(cuStreamSynchronize(NULL), 0);
	CHECK_EQ(out[7], 4);
}

/* A node remembers the kind of its memory at its creation. */
TEST(nodes_of_registered_memory)
{
	static unsigned char from[4096], to[4096];
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	CUcontext context;

	start();
	CHECK_EQ(cuCtxGetCurrent(&context), 0);
	CUDA_MEMCPY3D copy = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = from,
			       .srcPitch = sizeof(from),
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = device(sizeof(from)),
			       .dstPitch = sizeof(from),
			       .WidthInBytes = sizeof(from),
			       .Height = 1,
			       .Depth = 1 };
	/* Pageable at that time, even if registered later. */
	CHECK_EQ(cuGraphCreate(&graph, 0), 0);
	CHECK_EQ(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context), 0);
	CHECK_EQ(cuGraphInstantiate(&exec, graph, 0), 0);
	CHECK_EQ(cuMemHostRegister(from, sizeof(from), 0), 0);
	memset(from, 3, sizeof(from));
	CHECK_EQ(cuGraphLaunch(exec, NULL), 0);
	memset(from, 4, sizeof(from));
	CHECK_EQ(cuMemcpyDtoH(to, copy.dstDevice, sizeof(to)), 0);
	CHECK_EQ(to[4095], 3);
	/* Registered at that time, and then unregistered. */
	CHECK_EQ(cuGraphCreate(&graph, 0), 0);
	CHECK_EQ(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &copy, context), 0);
	CHECK_EQ(cuGraphInstantiate(&exec, graph, 0), 0);
	CHECK_EQ(cuMemHostUnregister(from), 0);
	CHECK_EQ(cuGraphLaunch(exec, NULL), 0);
	CHECK_EQ(cuStreamSynchronize(NULL), CUDA_ERROR_LAUNCH_FAILED);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
}

CHECK_MAIN()
