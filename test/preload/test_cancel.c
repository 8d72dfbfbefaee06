/*
 * test_cancel.c - threads that are canceled inside the driver, as far as it has cancellation
 * points.
 *
 * The stand-in sleeps before it returns from calls that STANDIN_SLOW names.  A thread that
 * requested its own cancellation before such a call ends in that sleep, unless the library has
 * something to undo after the call; then it ends at the next cancellation point.
 */
#include "promote.h"

#include <pthread.h>

/* A fork() unpins if 32 MiB or more are pinned. */
#define BYTES (40 * MIB)

static char *block;
static CUstream stream;

static void *run_canceled(void *call)
{
	OK(cuCtxSetCurrent(context));
	CHECK_EQ(pthread_cancel(pthread_self()), 0);
	((void (*)(void))call)();
	pthread_testcancel();
	return NULL;
}

/* Calls `call` in a thread with a pending cancellation request. */
static void canceled(void (*call)(void))
{
	void *result = NULL;

	pthread_t thread = check_thread(run_canceled, (void *)call);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
}

/* The library unpins before fork() if the device is idle and no copy is in progress. */
static void check_that_blocks_are_unpinned(void)
{
	/* A fork() waits only briefly, and the machine may be busy. */
	for (int tries = 0; tries < 400 && standin_pinned(block); tries++) {
		standin_step_all();
		if (CHECK_CHILD(7))
			_exit(7);
	}
	CHECK(!standin_pinned(block));
}

/* 200 times the second that a capture would wait at most for a copy in progress. */
static void check_that_captures_begin(void)
{
	CUgraph graph = NULL;

	for (int i = 0; i < 200; i++) {
		OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
		OK(cuStreamEndCapture(stream, &graph));
		OK(cuGraphDestroy(graph));
	}
}

/* Makes the call in threads that are canceled there; `sent`: uploads before that make the ring. */
static void check_canceled(void (*call)(void), int sent)
{
	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	block = promoted(BYTES);
	for (int i = 0; i < sent; i++)
		OK(cuMemcpyHtoDAsync_v2(there, block, 64 * KIB, stream));
	OK(cuStreamSynchronize(stream));
	for (int i = 0; i < 3; i++)
		canceled(call);
	OK(cuStreamSynchronize(stream));
	check_that_captures_begin();
	check_that_blocks_are_unpinned();
	CHECK_EQ(heat(block, BYTES), preloaded());
	OK(cuCtxSynchronize());
	CHECK(device_holds(there, BYTES, 1));
	free(promoted(8 * MIB));
}

#define CANCELED_AFTER(id, sent, environment, ...) \
	static void id(void)                       \
	{                                          \
		__VA_ARGS__;                       \
	}                                          \
	CASE_WITH(in_##id, environment, check_canceled(id, sent))
#define CANCELED(id, environment, ...) CANCELED_AFTER(id, 0, environment, __VA_ARGS__)

CANCELED(an_upload, ("STANDIN_SLOW=cuMemcpyHtoD:1"), cuMemcpyHtoD_v2(there, block, BYTES))
CANCELED(a_download, ("STANDIN_SLOW=cuMemcpyDtoH:1"), cuMemcpyDtoH_v2(block, there, BYTES))
/* From pinned memory of the library, and from the block itself. */
CANCELED_AFTER(a_small_asynchronous_upload, 16, ("STANDIN_SLOW=cuMemcpyHtoDAsync:1"),
	       cuMemcpyHtoDAsync_v2(there, block, 64 * KIB, stream))
CANCELED(a_large_asynchronous_upload, ("STANDIN_SLOW=cuMemcpyHtoDAsync:1"),
	 cuMemcpyHtoDAsync_v2(there, block, BYTES, stream))
/* The stand-in writes its log with the lock held, and sleeps without it. */
CANCELED(a_copy_that_is_not_ours, ("STANDIN_LOG=/dev/null", "STANDIN_SLOW=cuMemcpyDtoD:1"),
	 cuMemcpyDtoD_v2(there, there + MIB, KIB))
CANCELED(a_question, ("STANDIN_SLOW=cuPointerGetAttribute:1"),
	 cuPointerGetAttribute(&(CUmemorytype){ 0 }, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
			       (CUdeviceptr)block))
CANCELED(a_call_that_is_refused, ("STANDIN_SLOW=cuMemsetD8:1"),
	 cuMemsetD8_v2((CUdeviceptr)block, 7, MIB))

/* A call in a thread that is canceled there, after which a block can be pinned again. */
#define PINNED_LATER(id, slow, ...)                                                     \
	static void id(void)                                                            \
	{                                                                               \
		__VA_ARGS__;                                                            \
	}                                                                               \
	CASE_WITH(in_##id, ("STANDIN_SLOW=" slow), begin(); block = malloc(8 * MIB);    \
		  fill(block, 8 * MIB, 1); OK(cuMemHostRegister_v2(block, 8 * MIB, 0)); \
		  canceled(id); CHECK_EQ(heat(block, 8 * MIB), preloaded()))
PINNED_LATER(an_unregistration, "cuMemHostUnregister:1", cuMemHostUnregister(block))
PINNED_LATER(the_end_of_a_captured_stream, "cuStreamDestroy:1", OK(cuMemHostUnregister(block));
	     OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	     OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	     cuStreamDestroy_v2(stream))

/* Not of the heap, so it is staged. */
static char unpinned[BYTES];

/* Makes the call in threads that are canceled there.  Later copies are staged as before. */
static void check_staged_later(void (*call)(void))
{
	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 12; i++)
		canceled(call);
	OK(cuStreamSynchronize(stream));
	fill(unpinned, BYTES, 7);
	standin_log_reset();
	OK(cuMemcpyHtoDAsync_v2(there, unpinned, BYTES, stream));
	CHECK_EQ(standin_calls("cuMemcpyHtoDAsync") > 1, preloaded());
	OK(cuStreamSynchronize(stream));
	CHECK(device_holds(there, BYTES, 7));
}

#define IN_STAGING(id, slow, ...) \
	static void id(void)      \
	{                         \
		__VA_ARGS__;      \
	}                         \
	CASE_WITH(in_##id, ("HOTPIN_THREADS=2", "STANDIN_SLOW=" slow), check_staged_later(id))
IN_STAGING(a_staged_upload, "cuMemcpyHtoDAsync:1",
	   cuMemcpyHtoDAsync_v2(there, unpinned, BYTES, stream))
IN_STAGING(a_staged_download, "cuMemcpyDtoHAsync:1",
	   cuMemcpyDtoHAsync_v2(unpinned, there, BYTES, stream))
IN_STAGING(the_making_of_staging_memory, "cuMemHostRegister:1",
	   cuMemcpyHtoDAsync_v2(there, unpinned, BYTES, stream))

/* Staged uploads wait for earlier work as long as the program has pinned memory. */
static void an_end_of_pinned_memory(void)
{
	void *pinned;

	OK(cuMemHostAlloc(&pinned, KIB, 0));
	cuMemFreeHost(pinned);
}

TEST_WITH(in_an_end_of_pinned_memory, "HOTPIN_THREADS=2", "STANDIN_SLOW=cuMemFreeHost:1")
{
	begin();
	canceled(an_end_of_pinned_memory);
	for (int i = 0; i < 12; i++)
		OK(cuMemcpyHtoD_v2(there, unpinned, BYTES));
	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, unpinned, BYTES));
	CHECK_EQ(standin_calls("cuMemcpyHtoDAsync") > 1, preloaded());
	CHECK_EQ(standin_calls("cuStreamSynchronize"), 0);
}

PRELOAD_MAIN()
