/*
 * test_trouble.c - the memory that copies need, and what they ask the driver.
 *
 * Assertions that do not depend on preloaded() also hold without the library.
 */
#include "copies.h"
#include "thread.h"

/* Many buffers: their kind is known, and not queried for each copy. */
TEST_AFTER_WITH(many_pinned_buffers, begin(), "HOTPIN_THREADS=4")
{
	char *pinned[12];

	for (int i = 0; i < 12; i++)
		OK(cuMemHostAlloc((void **)&pinned[i], MIB, 0));
	standin_log_reset();
	for (int i = 0; i < 1200; i++)
		OK(cuMemcpyDtoHAsync_v2(pinned[i % 12], there, MIB, NULL));
	OK(cuCtxSynchronize());
	CHECK(standin_calls("cuPointerGetAttributes") < 120);
}

static char array[8 * MIB];
/* As threadprivate arrays in OpenMP: a thread's stack must hold it. */
__thread char private[MIB];

/* Threads of a process with such memory. */
TEST_AFTER_WITH(large_thread_local_memory, begin(), STAGED)
{
	private[MIB / 2] = 1;
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	/* Three are copy workers. */
	CHECK_EQ(thread_each_other(NULL) > 3, preloaded());
}

PRELOAD_MAIN()
