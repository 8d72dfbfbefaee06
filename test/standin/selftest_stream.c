/*
 * selftest_stream.c - tests of the order of execution: streams, events, kernels, captures, and
 * times of copies.
 */
#include "selftest.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void launch(CUstream s)
{
	CHECK_EQ(cuLaunchKernel(kernel("standin_noop"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), 0);
}

/* A kernel of two parameters that adds to a device integer. */
STANDIN_EXPORT extern const unsigned standin_args__Z3addPii[];
const unsigned standin_args__Z3addPii[] = { 8, 4, 0 };
STANDIN_EXPORT standin_twin_fn standin_twin__Z3addPii;
void standin_twin__Z3addPii(const unsigned grid[3], const unsigned block[3], void **args)
{
	*(int *)standin_host(*(CUdeviceptr *)args[0]) +=
		*(int *)args[1] * (int)(grid[0] * block[0]);
}

STANDIN_EXPORT extern const unsigned standin_args_plain[];
const unsigned standin_args_plain[] = { 8, 4, 0 };
STANDIN_EXPORT standin_twin_fn standin_twin_plain;
void standin_twin_plain(const unsigned grid[3], const unsigned block[3], void **args)
{
	standin_twin_ns(1000000);
	standin_twin__Z3addPii(grid, block, args);
}

TEST_AFTER(arguments_are_taken_at_the_launch, start())
{
	int addend = 5, sum = 0;
	CUdeviceptr at;
	void *args[] = { &at, &addend };

	at = device(4);
	CHECK_EQ(cuMemsetD32(at, 0, 1), 0);
	CHECK_EQ(cuLaunchKernel(kernel("_Z3addPii"), 2, 1, 1, 3, 1, 1, 0, NULL, args, NULL), 0);
	addend = 100;
	CHECK_EQ(cuLaunchKernel(kernel("plain"), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), 0);
	CHECK_EQ(*(int *)standin_host(at), (int)0xcdcdcdcd);
	CHECK_EQ(cuMemcpyDtoH(&sum, at, 4), 0);
	CHECK_EQ(sum, 130);
	CHECK(standin_clock_ns() > 1000000);
}

static CUdeviceptr marked;
static _Atomic bool marks_returned;

static void *mark(void *context)
{
	CHECK_EQ(cuCtxSetCurrent(context), 0);
	CHECK_EQ(cuMemsetD8_v2(marked, 1, 1), 0);
	CHECK_EQ(cuMemsetD8_v2(marked, 2, 1), 0);
	marks_returned = true;
	return NULL;
}

/* Stops the second of two calls before its effect, and after it; others pass. */
static void hold_the_second(enum standin_place place, int expected)
{
	CUcontext context = start();

	marked = device(1);
	CHECK_EQ(cuMemsetD8_v2(marked, 0, 1), 0);
	standin_hold("cuMemsetD8", place, 1);
	pthread_t thread = check_thread(mark, context);
	while (standin_held() == 0)
		sched_yield();
	CHECK_EQ(standin_held(), 1);
	standin_step_all();
	CHECK_EQ(*(char *)standin_host(marked), expected);
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK(!marks_returned);
	standin_release();
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(marks_returned);
	CHECK_EQ(standin_held(), 0);
	standin_step_all();
	CHECK_EQ(*(char *)standin_host(marked), 2);
	/* No call is held any longer. */
	CHECK_EQ(cuMemsetD8_v2(marked, 3, 1), 0);
	CHECK_EQ(cuMemsetD8_v2(marked, 3, 1), 0);
}

CASE(a_call_is_held_before_its_effect, hold_the_second(STANDIN_AT_CALL, 1))
CASE(a_call_is_held_after_its_effect, hold_the_second(STANDIN_AT_RETURN, 2))

static CUresult launch_without_twin(void)
{
	return cuLaunchKernel(kernel("_Z7missingv"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static CUresult start_as_libcudart(void)
{
	const void *table;

	return cuGetExportTable(&table, &(CUuuid){ "" });
}

/* Checks that a call fails, and tells a user the reason the first time. */
static void tells_once(CUresult (*call)(void), CUresult error, const char *words)
{
	char said[200] = "";
	FILE *before = stderr, *here = tmpfile();

	stderr = here;
	CHECK_EQ(call(), error);
	CHECK_EQ(call(), error);
	stderr = before;
	rewind(here);
	CHECK(fgets(said, sizeof(said), here) != NULL && strstr(said, words) != NULL);
	CHECK(fgets(said, sizeof(said), here) == NULL);
	fclose(here);
}

TEST_AFTER(what_cannot_work_is_told, start())
{
	tells_once(launch_without_twin, CUDA_ERROR_NOT_SUPPORTED, "_Z7missingv does not run");
	tells_once(start_as_libcudart, CUDA_ERROR_NOT_FOUND, "-cudart shared");
}

TEST_AFTER(a_kernel_without_twin_or_with_bad_dimensions_fails, start())
{
	CHECK_EQ(cuLaunchKernel(kernel("_Z7unknownv"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		 CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(cuLaunchKernel(kernel("standin_noop"), 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		 CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuLaunchKernel(kernel("standin_noop"), 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL),
		 CUDA_ERROR_INVALID_VALUE);
}

TEST_AFTER(streams_move_only_when_stepped, start())
{
	CUstream a, b;

	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 3; i++)
		launch(a);
	launch(b);
	CHECK_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	CHECK_EQ(standin_step(a, 2), 2);
	CHECK_EQ(standin_pending(a), 1);
	CHECK_EQ(cuStreamSynchronize(a), 0);
	CHECK_EQ(cuStreamQuery(a), 0);
	CHECK_EQ(standin_pending(b), 1);
	CHECK_EQ(standin_step_all(), 1);
	CHECK_EQ(standin_step(b, 1), 0);
}

static void *other_thread(void *ctx)
{
	unsigned long long *id = calloc(1, sizeof(*id));

	CHECK_EQ(cuCtxSetCurrent((CUcontext)ctx), 0);
	CHECK_EQ(cuStreamGetId(CU_STREAM_PER_THREAD, id), 0);
	return id;
}

TEST(stream_identities)
{
	unsigned long long mine, first, second;
	CUcontext ctx = start();
	CUstream a, b;
	void *theirs;

	CHECK_EQ(cuStreamGetId(CU_STREAM_PER_THREAD, &mine), 0);
	pthread_t thread = check_thread(other_thread, ctx);
	pthread_join(thread, &theirs);
	CHECK(*(unsigned long long *)theirs != mine);
	free(theirs);
	/* A handle is reused immediately, with another stream id. */
	a = stream(0);
	CHECK_EQ(cuStreamGetId(a, &first), 0);
	CHECK_EQ(cuStreamDestroy(a), 0);
	CHECK_EQ(cuStreamSynchronize(a), CUDA_ERROR_INVALID_HANDLE);
	b = stream(0);
	CHECK(a == b);
	CHECK_EQ(cuStreamGetId(b, &second), 0);
	CHECK(first != second);
}

static CUgraph finish(CUstream s, CUresult expected)
{
	CUgraph graph = (CUgraph)1;

	CHECK_EQ(cuStreamEndCapture(s, &graph), expected);
	return graph;
}

TEST_AFTER(captures_fork_and_must_join, start())
{
	CUevent fork_event, join_event;
	CUdeviceptr at;
	CUgraph graph;
	CUstream a, b;
	size_t n = 0;

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

CHECK_MAIN()
