/*
 * selftest_capture.c - tests of captures, of calls that invalidate them, and of graphs.
 */
#include "selftest.h"

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

CHECK_MAIN()
