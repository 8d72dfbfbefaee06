/*
 * test_idle.c - cached and pinned memory is released while the program sleeps, and no thread stays
 * awake longer than this takes.  A block that has been free for a second goes at the housekeeper's
 * next look, a second later at most.
 */
#include "resident.h"
#include "thread.h"

TEST_WITH(pinned_blocks_go_back, "HOTPIN_RING=0")
{
	size_t base = base_line();

	allocate(true);
	CHECK(memory_resident() > base + 150 * MIB);
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 3));
	/* A little later all pins have ended: no minimum stays pinned. */
	rest(1);
	CHECK_EQ(standin_registered_bytes(), 0);
}

TEST_WITH(unpinned_blocks_go_back, "HOTPIN_PIN=0")
{
	size_t base = base_line();

	allocate(false);
	CHECK(memory_resident() > base + 150 * MIB);
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 3));
}

/* A process that initialized CUDA without a context has no thread of the library. */
TEST(without_a_context)
{
	OK(cuInit(0));
	size_t base = memory_resident();

	allocate(false);
	CHECK(memory_resident() > base + 150 * MIB);
	free_all();
	CHECK_EQ(thread_each_other(NULL), 0);
	CHECK(shrinks_to(base + 64 * MIB, 3));
}

/* Streams without order to others, and two contexts: all are found to be idle. */
TEST(with_streams_and_contexts)
{
	size_t base = base_line();
	CUcontext second;
	CUstream stream;

	allocate(true);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemcpyHtoDAsync_v2(there, blocks[0], MIB, stream));
	OK(cuStreamSynchronize(stream));
	OK(cuCtxCreate_v2(&second, 0, 0));
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 3));
}

/* Drivers before CUDA 12.5 cannot be asked whether the device is idle. */
#define OLD_DRIVER "STANDIN_FAIL=cuCtxRecordEvent:1:801"

TEST_WITH(with_an_old_driver, OLD_DRIVER)
{
	size_t base = base_line();

	allocate(true);
	OK(cuCtxSynchronize());
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 3));
	CHECK(standin_calls("cuCtxRecordEvent") <= 1);
}

/* A call of the program that waits is the only sign, and may be the last one. */
TEST_AFTER_WITH(the_last_wait_with_an_old_driver, begin(), OLD_DRIVER, "HOTPIN_RING=0")
{
	allocate(true);
	free_all();
	OK(cuCtxSynchronize());
	rest(4);
	CHECK_EQ(standin_registered_bytes(), 0);
}

/* The same with two contexts while a block was due, and one later. */
TEST_AFTER_WITH(one_context_again_with_an_old_driver, begin(), OLD_DRIVER, "HOTPIN_RING=0")
{
	CUcontext other;

	OK(cuCtxCreate_v2(&other, 0, 0));
	OK(cuCtxSetCurrent(context));
	char *block = malloc(24 * MIB);
	memset(block, 1, 24 * MIB);
	CHECK_EQ(heat(block, 24 * MIB), preloaded());
	free(block);
	rest(2);
	block = malloc(24 * MIB);
	OK(cuCtxDestroy_v2(other));
	OK(cuCtxSetCurrent(context));
	rest(2);
	OK(cuMemcpyHtoD_v2(there, block, 24 * MIB));
	free(block);
	OK(cuCtxSynchronize());
	rest(4);
	CHECK_EQ(standin_registered_bytes(), 0);
}

static int deadlines;

/* Counts threads that wait on a futex with a timeout: its address is the fifth word, 0: none. */
static void count_deadlines(const char *task)
{
	char path[64], line[256] = "";
	unsigned long timeout = 1;

	WAIT_FOR(test_clock_settled());
	snprintf(path, sizeof(path), "/proc/self/task/%s/syscall", task);
	int fd = open(path, O_RDONLY);
	CHECK(read(fd, line, sizeof(line) - 1) > 0);
	close(fd);
	CHECK_EQ(sscanf(line, "%*d %*x %*x %*x %lx", &timeout), 1);
	deadlines += timeout != 0;
}

/*
 * Without cached or pinned memory no thread wakes up.  glibc writes to every block that hotpin
 * requests from it.
 */
TEST_WITH(an_idle_process_sleeps, "HOTPIN_RING=0", "MALLOC_PERTURB_=95")
{
	size_t base = base_line();

	allocate(true);
	free_all();
	CHECK_EQ(thread_each_other(NULL), preloaded());
	rest(4);
	CHECK_EQ(standin_registered_bytes(), 0);
	/* The thread waits without a deadline, so passing time does not wake it. */
	test_clock_pass(3600 * TEST_S);
	CHECK_EQ(thread_each_other(count_deadlines), preloaded());
	CHECK_EQ(deadlines, 0);

	/* Memory that is freed later is still released. */
	allocate(false);
	free_all();
	CHECK(shrinks_to(base + 64 * MIB, 3));
}

PRELOAD_MAIN()
