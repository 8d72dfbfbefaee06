/*
 * test_trials.c - what is learned from the stand-in's modeled time: which way is faster for
 * asynchronous uploads of sizes for which machines differ, and whether pinning gains anything.
 */
#include "clock.h"
#include "promote.h"

#include <sys/wait.h>

#define TRIED(id, ...)                                                                             \
	TEST_WITH(id, "HOTPIN_THREADS=4", "HOTPIN_HEAP_MIN=0", "HOTPIN_ASYNC=0", "HOTPIN_LEARN=1", \
		  ##__VA_ARGS__)

static char array[8 * MIB];

/* Makes `count` asynchronous uploads of 8 MiB; returns how many went through staging memory. */
static int staged_uploads(int count)
{
	int staged = 0;

	for (int i = 0; i < count; i++) {
		fill(array, 8 * MIB, i + 1);
		standin_log_reset();
		OK(cuMemcpyHtoDAsync_v2(there, array, 8 * MIB, NULL));
		staged += standin_calls("cuEventRecord") > 0;
		OK(cuStreamSynchronize(NULL));
		CHECK(device_holds(there, 8 * MIB, i + 1));
	}
	return staged;
}

/* Both ways are measured, and the faster one is taken. */
TRIED(staging_is_faster)
{
	begin();
	CHECK_EQ(staged_uploads(3), 0);
	/* The copies first pay for staging memory. */
	staged_uploads(10);
	CHECK_EQ(staged_uploads(20), preloaded() ? 20 : 0);
}

/* Uploads from memory that the program has pinned are quick, and say nothing about other memory. */
TRIED(pinned_memory_between)
{
	void *own;
	int staged = 0;

	begin();
	OK(cuMemAllocHost_v2(&own, 8 * MIB));
	staged_uploads(30);
	for (int i = 0; i < 10; i++) {
		for (int j = 0; j < 4; j++)
			OK(cuMemcpyHtoDAsync_v2(there, own, 8 * MIB, NULL));
		OK(cuStreamSynchronize(NULL));
		staged += staged_uploads(1);
	}
	CHECK_EQ(staged, preloaded() ? 10 : 0);
	OK(cuMemFreeHost(own));
}

/* Nothing is measured if the option says so. */
TRIED(nothing_is_learned, "HOTPIN_LEARN=0")
{
	begin();
	CHECK_EQ(staged_uploads(20), 0);
}

TRIED(staging_is_slower, "STANDIN_SLOW=cuEventRecord:20")
{
	begin();
	int tried = staged_uploads(20);
	CHECK(tried == (preloaded() ? 3 : 0));
	CHECK_EQ(staged_uploads(20), 0);
}

/* A trial continues after a fork and a context's end. */
TRIED(half_a_trial)
{
	begin();
	staged_uploads(4);
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	CHECK_EQ(check_status(child), 0);
	staged_uploads(1);
	fill(array, 8 * MIB, 99);
	OK(cuMemcpyHtoDAsync_v2(there, array, 8 * MIB, NULL));
	OK(cuCtxDestroy_v2(context));
	begin();
	staged_uploads(10);
	CHECK_EQ(staged_uploads(5), preloaded() ? 5 : 0);
}

/* Errors during the measurements: successful copies are complete. */
TRIED(errors_in_between, "STANDIN_FAIL=cuMemcpyHtoDAsync:2,cuMemcpyHtoDAsync:6,cuEventRecord:2")
{
	int failed = 0;

	begin();
	for (int i = 0; i < 16; i++) {
		fill(array, 8 * MIB, i + 1);
		if (cuMemcpyHtoDAsync_v2(there, array, 8 * MIB, NULL) != CUDA_SUCCESS) {
			failed++;
			continue;
		}
		/* The program may change pageable memory immediately. */
		fill(array, 8 * MIB, 99);
		OK(cuStreamSynchronize(NULL));
		CHECK(device_holds(there, 8 * MIB, i + 1));
	}
	CHECK(failed <= 2);
}

/* Uploads of the block, each of them behind `queued` bytes that the program sends itself. */
static void upload_behind(const char *block, size_t bytes, const char *own, size_t queued,
			  int count)
{
	for (int i = 0; i < count; i++) {
		for (size_t left = queued; left > 0; left -= left < 64 * MIB ? left : 64 * MIB)
			OK(cuMemcpyHtoDAsync_v2(there, own, left < 64 * MIB ? left : 64 * MIB,
						NULL));
		OK(cuMemcpyHtoD_v2(there, block, bytes));
	}
}

/*
 * Uploads from a pinned block wait for other work for a while, so pinning seems to gain nothing.
 * Then other blocks are uploaded, on a device that is idle: they are pinned in the end.
 */
TEST_WITH(pins_after_a_busy_time, "HOTPIN_ASYNC=0", "HOTPIN_RING=0", "HOTPIN_LEARN=1")
{
	const size_t bytes = 16 * MIB;
	char *others[4];
	void *own;
	int pinned = 0;

	begin();
	OK(cuMemAllocHost_v2(&own, 64 * MIB));
	char *block = promoted(bytes);
	upload_behind(block, bytes, own, 44 * MIB, 60);
	upload_behind(block, bytes, own, 128 * MIB, 60);
	for (int i = 0; i < 4; i++) {
		others[i] = malloc(bytes);
		fill(others[i], bytes, i + 2);
	}
	upload_behind(others[0], bytes, own, 0, 8);
	CHECK(!standin_pinned(others[0]));
	for (int i = 0; i < 1000 && pinned < 4 && preloaded(); i++) {
		OK(cuMemcpyHtoD_v2(there, others[i % 4], bytes));
		CHECK(i % 50 != 0 || device_holds(there, bytes, i % 4 + 2));
		pinned = 0;
		for (int j = 0; j < 4; j++)
			pinned += standin_pinned(others[j]) != 0;
	}
	CHECK_EQ(pinned, preloaded() ? 4 : 0);
	for (int i = 0; i < 4; i++)
		free(others[i]);
	free(block);
}

PRELOAD_MAIN()
