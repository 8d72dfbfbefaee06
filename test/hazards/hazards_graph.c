/*
 * hazards_graph.c - row 12: stream capture and graphs with blocks that are pinned, become pinned,
 * or were unpinned.
 */
#include "hazards.h"
#include "shapes.h"

#include <sys/mman.h>

/* A thread that captures nothing, and copies blocks that are worth pinning. */
struct concurrent {
	CUstream stream;
	CUdeviceptr there;
	char *old; /* pinned before the capture began */
	int wrong, refused;
};

static void *copy_meanwhile(void *arg)
{
	struct concurrent *my = arg;

	if (cu.cuCtxSetCurrent(primary) != CUDA_SUCCESS)
		my->refused++;
	for (unsigned i = 0; i < 20; i++) {
		char *block = i % 2 == 0 ? malloc(2 * BYTES) : my->old;

		fill(block, BYTES, i);
		my->refused += cu.cuMemcpyHtoDAsync_v2(my->there, block, BYTES, my->stream) != 0;
		memset(block, 0, BYTES);
		my->refused += cu.cuMemcpyDtoHAsync_v2(block, my->there, BYTES, my->stream) != 0;
		my->wrong += !holds(block, BYTES, i);
		if (block != my->old)
			free(block);
	}
	return NULL;
}

static CUgraphExec end_and_instantiate(CUstream captured)
{
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;

	OK(cu.cuStreamEndCapture(captured, &graph));
	CHECK(graph != NULL);
	OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	OK(cu.cuGraphDestroy(graph));
	return exec;
}

/* One launch moves the block's data of that time. */
static void launch(CUgraphExec exec, char *up, char *down, unsigned seed)
{
	fill(up, BYTES, seed);
	memset(down, 0, BYTES);
	OK(cu.cuGraphLaunch(exec, stream));
	OK(cu.cuStreamSynchronize(stream));
	CHECK(holds(down, BYTES, seed));
	CHECK(holds(up, BYTES, seed));
}

/* A graph that copies `up` to the device and on to `down`. */
static CUgraphExec captured(CUstreamCaptureMode mode, char *up, char *down,
			    struct concurrent *concurrent)
{
	OK(cu.cuStreamBeginCapture_v2(stream, mode));
	OK(cu.cuMemcpyHtoDAsync_v2(there, up, BYTES, stream));
	if (concurrent != NULL) {
		check_in_thread(copy_meanwhile, concurrent);
	}
	OK(cu.cuMemcpyDtoHAsync_v2(down, there, BYTES, stream));
	return end_and_instantiate(stream);
}

static void capture_meanwhile(CUstreamCaptureMode mode)
{
	begin();
	char *up = hot(BYTES), *down = hot(BYTES);
	struct concurrent concurrent = { .old = hot(BYTES), .there = there + BYTES };

	OK(cu.cuStreamCreate(&concurrent.stream, CU_STREAM_NON_BLOCKING));
	CUgraphExec exec = captured(mode, up, down, &concurrent);
	SEE("refused concurrent", concurrent.refused);
	CHECK_EQ(concurrent.wrong, 0);
	for (unsigned seed = 1; seed < 5; seed++) {
		launch(exec, up, down, seed);
		CHECK_EQ(heat(up, BYTES), preloaded());
		CHECK_EQ(heat(down, BYTES), preloaded());
	}
	OK(cu.cuGraphExecDestroy(exec));
	OK(cu.cuStreamDestroy_v2(concurrent.stream));
	free(up);
	free(down);
	free(concurrent.old);
}

CASE(row12_captured_globally, capture_meanwhile(CU_STREAM_CAPTURE_MODE_GLOBAL))
CASE(row12_captured_by_this_thread, capture_meanwhile(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
CASE(row12_captured_relaxed, capture_meanwhile(CU_STREAM_CAPTURE_MODE_RELAXED))

/* The source is changed between two launches; the graph has its address. */
#define REPLAYED(id, act)                                                                         \
	TEST(id)                                                                                  \
	{                                                                                         \
		begin();                                                                          \
		char *up = hot(BYTES), *down = hot(BYTES);                                        \
		CUgraphExec exec = captured(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, up, down, NULL); \
                                                                                                  \
		for (unsigned seed = 1; seed < 8; seed++) {                                       \
			launch(exec, up, down, seed);                                             \
			act;                                                                      \
		}                                                                                 \
		OK(cu.cuGraphExecDestroy(exec));                                                  \
		free(up);                                                                         \
		free(down);                                                                       \
		agrees(up = hot(BYTES), BYTES);                                                   \
		free(up);                                                                         \
	}

REPLAYED(row12_replayed_as_it_was, (void)0)
REPLAYED(row12_replayed_after_promotion, CHECK_EQ(heat(up, BYTES), preloaded());
	 CHECK_EQ(heat(down, BYTES), preloaded()))
REPLAYED(row12_replayed_after_its_own_registration, CHECK_EQ(heat(up, BYTES), preloaded());
	 OK(cu.cuMemHostRegister_v2(up, BYTES, 0)); OK(cu.cuMemHostUnregister(up)))
REPLAYED(row12_replayed_with_new_pages, heat(up, BYTES); heat(down, BYTES);
	 CHECK_EQ(madvise(inner(up), INSIDE, MADV_DONTNEED), 0);
	 CHECK_EQ(madvise(inner(down), INSIDE, MADV_DONTNEED), 0))
REPLAYED(row12_replayed_between_frees, free(hot(BYTES)); free(hot(3 * MIB)); free(malloc(BYTES));
	 OK(cu.cuCtxSynchronize()))

/*
 * The graph is destroyed, then its source freed; the next graph finds other memory at the same
 * address.
 */
TEST_AFTER(row12_freed_after_the_graph, begin())
{
	for (unsigned i = 0; i < 6; i++) {
		char *up = hot(BYTES), *down = hot(BYTES);
		CUgraphExec exec = captured(CU_STREAM_CAPTURE_MODE_RELAXED, up, down, NULL);

		launch(exec, up, down, i + 1);
		OK(cu.cuGraphExecDestroy(exec));
		free(up);
		free(down);
	}
}

TEST_AFTER(row12_a_node_of_its_own, begin())
{
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec exec;

	char *block = hot(BYTES);
	CUDA_MEMCPY3D box =
		shape_box(in_device(there, BYTES), 1, in_host(block, BYTES), 1, BYTES, 1, 1);

	OK(cu.cuGraphCreate(&graph, 0));
	OK(cu.cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, primary));
	OK(cu.cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (unsigned i = 0; i < 5; i++) {
		CHECK_EQ(heat(block, BYTES), preloaded());
		/* A node that was created with pinned memory would fail after this. */
		OK(cu.cuMemHostRegister_v2(block, BYTES, 0));
		OK(cu.cuMemHostUnregister(block));
		fill(block, BYTES, i);
		OK(cu.cuMemsetD8_v2(there, 0, BYTES));
		OK(cu.cuCtxSynchronize());
		OK(cu.cuGraphLaunch(exec, stream));
		OK(cu.cuStreamSynchronize(stream));
		CHECK(device_holds(there, BYTES, i));
	}
	OK(cu.cuGraphExecDestroy(exec));
	OK(cu.cuGraphDestroy(graph));
	free(block);
}
