/*
 * test_capture.c - when captures begin and end, and memcpy nodes of pinned blocks.  Copies inside
 * and next to a capture are rows of test/hazards/hazards_graph.c.
 */
#include "thread.h"
#include "promote.h"

#include <pthread.h>

#define BYTES (4 * MIB)

/* Captures that end without a graph, or on another stream, are still counted correctly. */
TEST_AFTER(captures_that_fail, begin())
{
	CUstream stream, other;
	CUgraph graph;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	CHECK(cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS);
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS);
	CHECK(cuStreamEndCapture(other, &graph) != CUDA_SUCCESS);
	/* A wait for the stream invalidates the capture, which its end reports. */
	CHECK(cuStreamSynchronize(stream) != CUDA_SUCCESS);
	CHECK(cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS);
	CHECK(cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS);
	/* No capture is active any longer: blocks are pinned again. */
	free(promoted(BYTES));
	OK(cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	OK(cuStreamEndCapture(other, &graph));
	free(promoted(2 * BYTES));
}

/* A stream is destroyed during its capture. */
TEST_AFTER(a_capture_that_dies_with_its_stream, begin())
{
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuStreamDestroy_v2(stream));
	free(promoted(BYTES));
}

/* A stream that joined a capture is destroyed; nothing is pinned until the capture ends. */
TEST_AFTER(a_stream_that_joined_goes, begin())
{
	CUstream stream, side;
	CUevent event;
	CUgraph graph;

	OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&side, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuEventRecord(event, stream));
	OK(cuStreamWaitEvent(side, event, 0));
	OK(cuStreamDestroy_v2(side));
	CHECK(!heat(malloc(BYTES), BYTES));

	/* The driver decides whether that invalidated it. */
	cuStreamEndCapture(stream, &graph);
	free(promoted(BYTES));
}

/* Makes one side the block, by host or unified address, from its start or from an offset. */
static CUDA_MEMCPY3D box_with(char *block, bool is_source, bool unified, size_t offset)
{
	CUDA_MEMCPY3D box = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = there,
			      .srcPitch = BYTES,
			      .srcHeight = 1,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = there,
			      .dstPitch = BYTES,
			      .dstHeight = 1,
			      .WidthInBytes = 64,
			      .Height = 1,
			      .Depth = 1 };

	if (is_source) {
		box.srcMemoryType = unified ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST;
		box.srcHost = block - offset;
		box.srcDevice = (CUdeviceptr)(block - offset);
		box.srcY = offset / BYTES;
	} else {
		box.dstMemoryType = unified ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST;
		box.dstHost = block - offset;
		box.dstDevice = (CUdeviceptr)(block - offset);
		box.dstY = offset / BYTES;
	}
	return box;
}

/* The driver remembers the kind of memory of either side. */
TEST_AFTER(memcpy_nodes_of_every_kind, begin())
{
	CUgraph graph;
	CUgraphNode node;

	char *block = promoted(BYTES);
	OK(cuGraphCreate(&graph, 0));
	for (unsigned i = 0; i < 8; i++) {
		CUDA_MEMCPY3D box = box_with(block, i & 1, i & 2, i & 4 ? 16 * BYTES : 0);

		CHECK_EQ(heat(block, BYTES), preloaded());
		cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, context);
		if (!CHECK_EQ(standin_pinned(block), 0))
			printf("# kind %u\n", i);
	}
}

/* Both sides are host memory. */
TEST_AFTER(captured_between_two_blocks, begin())
{
	CUstream stream;
	CUgraph graph;

	char *from = promoted(BYTES), *to = promoted(BYTES);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, BYTES, stream);
	CHECK_EQ(standin_pinned(from), 0);
	CHECK_EQ(standin_pinned(to), 0);
	cuStreamEndCapture(stream, &graph);
}

/* The stand-in lacks these functions, but the steps before the driver call can be checked. */
TEST(nodes_that_are_set)
{
	CUresult (*set)(CUgraphNode, CUgraphNodeParams *) =
		(CUresult(*)(CUgraphNode, CUgraphNodeParams *))dlsym(RTLD_DEFAULT,
								     "cuGraphNodeSetParams");

	begin();
	char *block = promoted(BYTES);
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	params.memcpy.copyParams = box_with(block, true, false, 0);
	if (set != NULL)
		CHECK(set(NULL, &params) != CUDA_SUCCESS);
	CHECK_EQ(standin_pinned(block), 0);
}

#define SMALL (256 * KIB)

static _Atomic bool enough;
static _Atomic int copies_meanwhile;

static void *copy_again_and_again(void *block)
{
	OK(cuCtxSetCurrent(context));
	for (; !enough; copies_meanwhile++)
		OK(cuMemcpyHtoD_v2(there + 32 * MIB, block, SMALL));
	return NULL;
}

/* Lets the held call create the node after enough copies to pin the block. */
static void *release_node(void *arg)
{
	WAIT_FOR(standin_held() == 1);
	int before = copies_meanwhile;
	WAIT_FOR(copies_meanwhile - before >= 20);
	standin_release();
	return arg;
}

/*
 * Another thread's copies would pin the block again while the node is created; unpinning it
 * afterwards would end the context.
 */
TEST_AFTER(a_memcpy_node_during_copies, begin())
{
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;
	CUstream stream;

	char *block = promoted(SMALL);
	CUDA_MEMCPY3D box = box_with(block, true, false, 0);

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	pthread_t thread = check_thread(copy_again_and_again, block);
	for (int i = 0; i < 2 && check_failures == 0; i++) {
		OK(cuGraphCreate(&graph, 0));
		standin_hold("cuGraphAddMemcpyNode", STANDIN_AT_CALL, 0);
		pthread_t releasing = check_thread(release_node, NULL);
		OK(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, context));
		pthread_join(releasing, NULL);
		OK(cuMemHostRegister_v2(block, SMALL, 0));
		OK(cuMemHostUnregister(block));
		OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
		OK(cuGraphLaunch(exec, stream));
		OK(cuStreamSynchronize(stream));
		OK(cuGraphExecDestroy(exec));
		OK(cuGraphDestroy(graph));
	}
	enough = true;
	pthread_join(thread, NULL);
}

/*
 * Both streams are empty: the legacy stream is queried, and the capture begins on another stream.
 */
static _Atomic bool uploaded, begins_capture;

static void *upload_meanwhile(void *block)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyHtoD_v2_ptds(there, block, 48 * KIB));
	uploaded = true;
	return NULL;
}

/* Lets the query continue when the main thread waits for its end, or has begun the capture. */
static void *let_it_be_answered(void *arg)
{
	WAIT_FOR(!begins_capture || thread_is_blocked(getpid()));
	standin_release();
	return arg;
}

/* The query is held before and after the driver's answer, while a capture begins. */
TEST_AFTER(begun_while_the_legacy_stream_is_asked, begin())
{
	CUstream stream;
	CUgraph graph;

	OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	char *block = promoted(BYTES);
	for (int turn = 0; turn < 10; turn++) {
		uploaded = false;
		standin_hold("cuStreamQuery", turn % 2 ? STANDIN_AT_CALL : STANDIN_AT_RETURN, 0);
		pthread_t other = check_thread(upload_meanwhile, block);
		WAIT_FOR(standin_held() == 1 || uploaded);
		begins_capture = true;
		pthread_t releasing = check_thread(let_it_be_answered, NULL);
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
		begins_capture = false;
		pthread_join(releasing, NULL);
		pthread_join(other, NULL);
		OK(cuMemsetD8Async(there, 2, KIB, stream));
		OK(cuStreamEndCapture(stream, &graph));
		if (graph != NULL)
			OK(cuGraphDestroy(graph));
		CHECK(device_holds(there, 48 * KIB, 1));
	}
}

PRELOAD_MAIN()
