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
	pthread_t thread;
	void *result = NULL;

	CHECK_EQ(pthread_create(&thread, NULL, run_canceled, (void *)call), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	CHECK(result == PTHREAD_CANCELED);
}

/* The library unpins before fork() if the device is idle and no copy is in progress. */
static void check_that_blocks_are_unpinned(void)
{
	int status;

	/* A fork() waits only briefly, and the machine may be busy. */
	for (int tries = 0; tries < 400 && standin_pinned(block); tries++) {
		standin_step_all();
		pid_t child = fork();

		if (child == 0)
			_exit(7);
		CHECK_EQ(waitpid(child, &status, 0), child);
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

static void check_all(void)
{
	check_that_captures_begin();
	check_that_blocks_are_unpinned();
	CHECK_EQ(heat(block, BYTES), preloaded());
	OK(cuCtxSynchronize());
	CHECK(device_holds(there, BYTES, 1));
}

static void prepare(void)
{
	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	block = promoted(BYTES);
}

static void upload(void)
{
	cuMemcpyHtoD_v2(there, block, BYTES);
}

TEST_AFTER_WITH(in_an_upload, prepare(), "STANDIN_SLOW=cuMemcpyHtoD:1")
{
	for (int i = 0; i < 3; i++)
		canceled(upload);
	check_all();
}

static void download(void)
{
	cuMemcpyDtoH_v2(block, there, BYTES);
}

TEST_AFTER_WITH(in_a_download, prepare(), "STANDIN_SLOW=cuMemcpyDtoH:1")
{
	for (int i = 0; i < 3; i++)
		canceled(download);
	check_all();
}

static void send_small(void)
{
	cuMemcpyHtoDAsync_v2(there, block, 64 * KIB, stream);
}

static void send_large(void)
{
	cuMemcpyHtoDAsync_v2(there, block, BYTES, stream);
}

/* From pinned memory of the library, from a small-copy slot, and from the block itself. */
TEST_AFTER_WITH(in_an_asynchronous_upload, prepare(), "STANDIN_SLOW=cuMemcpyHtoDAsync:1")
{
	for (int i = 0; i < 16; i++)
		send_small();
	OK(cuStreamSynchronize(stream));
	canceled(send_small);
	canceled(send_large);
	OK(cuStreamSynchronize(stream));
	check_all();
}

static void copy_on_the_device(void)
{
	cuMemcpyDtoD_v2(there, there + MIB, KIB);
}

/* The stand-in writes its log with the lock held, and sleeps without it. */
TEST_AFTER_WITH(in_a_copy_that_is_not_ours, prepare(), "STANDIN_LOG=/dev/null",
		"STANDIN_SLOW=cuMemcpyDtoD:1")
{
	canceled(copy_on_the_device);
	check_all();
}

static void ask(void)
{
	CUmemorytype type;

	cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)block);
}

TEST_AFTER_WITH(in_a_question, prepare(), "STANDIN_SLOW=cuPointerGetAttribute:1")
{
	canceled(ask);
	check_all();
	free(promoted(8 * MIB));
}

static void fill_block(void)
{
	cuMemsetD8_v2((CUdeviceptr)block, 7, MIB);
}

TEST_AFTER_WITH(in_a_call_that_is_refused, prepare(), "STANDIN_SLOW=cuMemsetD8:1")
{
	canceled(fill_block);
	check_all();
}

PRELOAD_MAIN()
