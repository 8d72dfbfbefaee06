/*
 * test_trouble.c - copies that meet a kernel that waits for the host, and their memory.
 *
 * Assertions that do not depend on preloaded() also hold without the library.
 */
#include "thread.h"
#include "copies.h"

#include <dirent.h>
#include <pthread.h>

#define STAGED(id, ...) \
	TEST_WITH(id, "HOTPIN_ROUTE=stage", "HOTPIN_THREADS=3", "HOTPIN_HEAP_MIN=0", ##__VA_ARGS__)

/* Many buffers: their kind is known, and not queried for each copy. */
TEST_WITH(many_pinned_buffers, "HOTPIN_THREADS=4")
{
	char *pinned[12];

	begin();
	for (int i = 0; i < 12; i++)
		OK(cuMemHostAlloc((void **)&pinned[i], MIB, 0));
	standin_log_reset();
	for (int i = 0; i < 1200; i++)
		OK(cuMemcpyDtoHAsync_v2(pinned[i % 12], there, MIB, NULL));
	OK(cuCtxSynchronize());
	CHECK(standin_calls("cuPointerGetAttributes") < 120);
}

static char array[8 * MIB], other[8 * MIB];
/* As threadprivate arrays in OpenMP: a thread's stack must hold it. */
__thread char private[MIB];

/* Threads of a process with such memory. */
STAGED(large_thread_local_memory)
{
	int count = 0;

	begin();
	private[MIB / 2] = 1;
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	DIR *tasks = opendir("/proc/self/task");
	while (readdir(tasks) != NULL)
		count++;
	closedir(tasks);
	CHECK_EQ(count > 2 + 1 + 3,
		 preloaded()); /* "." and "..", the program's, the copy workers */
}

static CUdeviceptr memory;
static CUcontext second;

static void *fetch_slowly(void *arg)
{
	OK(cuCtxSetCurrent(second));
	OK(cuMemcpyDtoHAsync_v2(other, memory, 8 * MIB, arg));
	return NULL;
}

/* Lets the kernel end when the main thread waits. */
static void *release(void *arg)
{
	(void)arg;
	WAIT_FOR(thread_is_blocked(getpid()));
	copy_let_go();
	return NULL;
}

/* The context that registered the ring ends while another context's copy waits for a kernel. */
STAGED(context_that_owns_the_ring)
{
	pthread_t copying, releasing;

	begin();
	fill(array, 8 * MIB, 1);
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuMemAlloc_v2(&memory, 8 * MIB));
	OK(cuMemcpyHtoD_v2(memory, array, 8 * MIB));
	CUstream stream = copy_held_stream();
	pthread_create(&copying, NULL, fetch_slowly, stream);
	WAIT_FOR(standin_pending(stream) >= 2);
	pthread_create(&releasing, NULL, release, NULL);
	OK(cuCtxDestroy_v2(context));
	pthread_join(copying, NULL);
	pthread_join(releasing, NULL);
	CHECK(holds(other, 8 * MIB, 1));
}

PRELOAD_MAIN()
