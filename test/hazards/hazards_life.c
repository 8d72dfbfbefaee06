/*
 * hazards_life.c - rows 18 to 24 and 30: limits, huge blocks, contexts, the runtime, exit.
 */
#include "hazards.h"
#include "memory.h"
#include "ptx.h"
#include "thread.h"

#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* Copies many blocks in turn in both directions; returns the most bytes ever pinned. */
static size_t pinned_of_many(unsigned count)
{
	char *block[32];
	size_t most = 0;

	for (unsigned i = 0; i < count; i++)
		block[i] = malloc(BYTES);
	for (unsigned round = 0; round < 6 && check_failures == 0; round++) {
		for (unsigned i = 0; i < count; i++) {
			size_t pinned = 0;

			fill(block[i], BYTES, i + round);
			OK(cu.cuMemcpyHtoD_v2(there, block[i], BYTES));
			OK(cu.cuCtxSynchronize());
			memset(block[i], 0, BYTES);
			OK(cu.cuMemcpyDtoHAsync_v2(block[i], there, BYTES, stream));
			CHECK(holds(block[i], BYTES, i + round));
			for (unsigned at = 0; at < count; at++)
				pinned += is_pinned(block[at]) ? BYTES : 0;
			most = pinned > most ? pinned : most;
		}
	}
	for (unsigned i = 0; i < count; i++)
		free(block[i]);
	return most;
}

/* Locked memory is the program's to limit. */
ALONE(row18_locked_memory)
{
	struct rlimit limit = { 256 * KIB, 256 * KIB };
	char *mine = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* Makes glibc unmap freed blocks, too. */
	CHECK_EQ(mallopt(M_MMAP_THRESHOLD, 128 * KIB), 1);
	CHECK_EQ(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
	begin();
	char *block = hot(BYTES);
	errno = 0;
	SEE("lock", mlock(mine, 128 * KIB));
	SEE("lock more", mlock(mine, MIB));
	SEE("lock a block", mlock(inner(block), 64 * KIB));
	agrees(block, BYTES);
	SEE("unlock", munlock(inner(block), 64 * KIB));
	free(block);
	/* A lock ends with its memory. */
	block = hot(BYTES);
	SEE("lock a block", mlock(inner(block), 64 * KIB));
	SEE("locked", memory_status_kib("VmLck:"));
	free(block);
	SEE("locked after it", memory_status_kib("VmLck:"));
}

/* A block that is larger than the kernel or a driver pins at once. */
ALONE_AFTER(row19_huge, begin())
{
	const size_t step = 64 * MIB, bytes = 17 * step;

	char *block = malloc(bytes);
	if (block == NULL)
		SKIP("no memory for it");
	for (size_t at = 0; at < bytes; at += step)
		fill(block + at, MIB, (unsigned)(at / step));
	for (int i = 0; i < 4; i++)
		for (size_t at = 0; at < bytes; at += step)
			OK(cu.cuMemcpyHtoD_v2(there, block + at, step));
	SEE("is pinned without the library", is_pinned(block) && !preloaded());
	for (size_t at = 0; at < bytes && check_failures == 0; at += step) {
		OK(cu.cuMemcpyHtoDAsync_v2(there, block + at, step, stream));
		memset(block + at, 0, MIB);
		CHECK(device_holds(there, MIB, (unsigned)(at / step)));
		OK(cu.cuMemcpyDtoHAsync_v2(block + at, there, step, stream));
		CHECK(holds(block + at, MIB, (unsigned)(at / step)));
	}
	/* Across the first gigabyte, in one call. */
	CUdeviceptr large = 0;
	if (cu.cuMemAlloc_v2(&large, bytes) == CUDA_SUCCESS) {
		OK(cu.cuMemcpyHtoD_v2(large, block, bytes));
		for (size_t at = 0; at < bytes; at += step)
			CHECK(device_holds(large + at, MIB, (unsigned)(at / step)));
		OK(cu.cuMemFree_v2(large));
	}
	printf("# pinned: %d\n", is_pinned(block));
	free(block);
}

/* Checks that the block stays usable, in the current context. */
static void serves_on(char *block)
{
	begin_context();
	agrees(block, BYTES);
	CHECK_EQ(heat(block, BYTES), preloaded());
	agrees(block, BYTES);
}

ALONE_AFTER(row20_destroyed, begin())
{
	CUcontext context;

	for (int i = 0; i < 3; i++) {
		OK(cu.cuCtxCreate_v2(&context, 0, 0));
		begin_context();
		char *block = hot(BYTES), *freed = hot(BYTES);
		OK(cu.cuCtxDestroy_v2(context));
		free(freed);
		OK(cu.cuCtxSetCurrent(primary));
		serves_on(block);
		serves_on(freed = malloc(BYTES));
		OK(cu.cuMemHostRegister_v2(block, BYTES, 0));
		OK(cu.cuMemHostUnregister(block));
		free(block);
		free(freed);
	}
}

/* A thread whose context another thread destroys, or that faults, changes a block of a third. */
static struct {
	CUcontext context;
	char *block;
	bool faults;
	_Atomic bool entered, destroyed;
} lost;

static void *drop_pages(void *unused)
{
	CUmodule module;
	CUfunction trap;

	OK(cu.cuCtxSetCurrent(lost.context));
	if (lost.faults) {
		OK(cu.cuModuleLoadData(&module, ptx_image));
		OK(cu.cuModuleGetFunction(&trap, module, "test_trap"));
		OK(cu.cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
		CHECK(cu.cuCtxSynchronize() != CUDA_SUCCESS);
	}
	lost.entered = true;
	WAIT_FOR(lost.faults || lost.destroyed);
	CHECK_EQ(madvise(inner(lost.block), INSIDE, MADV_DONTNEED), 0);
	return unused;
}

static void changed_from_a_lost_context(bool faults)
{
	begin();
	lost.faults = faults;
	lost.block = hot(BYTES);
	OK(cu.cuCtxCreate_v2(&lost.context, 0, 0));
	OK(cu.cuCtxSetCurrent(primary));
	pthread_t thread = check_thread(drop_pages, NULL);
	WAIT_FOR(lost.entered);
	if (!faults)
		OK(cu.cuCtxDestroy_v2(lost.context));
	lost.destroyed = true;
	pthread_join(thread, NULL);
	/* A fault may end all contexts of the process. */
	if (cu.cuCtxSynchronize() != CUDA_SUCCESS)
		SKIP("a fault of one context is one of all here");
	changed(lost.block);
}

CASE_ALONE(row20_changed_from_a_destroyed_context, changed_from_a_lost_context(false))
CASE_ALONE(row20_changed_from_a_faulty_context, changed_from_a_lost_context(true))

ALONE_AFTER(row20_reset, begin())
{
	for (int i = 0; i < 3; i++) {
		char *block = hot(BYTES), *freed = hot(BYTES);

		OK(cu.cuDevicePrimaryCtxReset_v2(0));
		free(freed);
		OK(cu.cuDevicePrimaryCtxRetain(&primary, 0));
		OK(cu.cuCtxSetCurrent(primary));
		serves_on(block);
		serves_on(freed = malloc(BYTES));
		free(block);
		free(freed);
	}
}

ALONE_AFTER(row20_released, begin())
{
	for (int i = 0; i < 3; i++) {
		char *block = hot(BYTES);

		OK(cu.cuDevicePrimaryCtxRelease_v2(0));
		OK(cu.cuDevicePrimaryCtxRetain(&primary, 0));
		OK(cu.cuCtxSetCurrent(primary));
		serves_on(block);
		free(block);
	}
}

ALONE_AFTER(row21_two_contexts, begin())
{
	CUcontext second;
	CUstream second_stream;
	CUdeviceptr second_there;

	char *block = hot(BYTES);
	OK(cu.cuCtxCreate_v2(&second, 0, 0));
	begin_context();
	second_stream = stream;
	second_there = there;
	for (size_t bytes = 64; bytes <= BYTES; bytes *= 16) {
		fill(block, bytes, 3);
		spin(stream, 5);
		OK(cu.cuMemcpyHtoDAsync_v2(there, block, bytes, stream));
		memset(block, 0, bytes);
		CHECK(device_holds(there, bytes, 3));
		OK(cu.cuMemcpyDtoHAsync_v2(block, there, bytes, stream));
		CHECK(holds(block, bytes, 3));
	}
	/* The context that pinned the block ends; the other one is unaffected. */
	OK(cu.cuDevicePrimaryCtxReset_v2(0));
	OK(cu.cuCtxSetCurrent(second));
	stream = second_stream;
	there = second_there;
	agrees(block, BYTES);
	CHECK_EQ(heat(block, BYTES), preloaded());
	agrees(block, BYTES);
	free(block);
}

TEST_AFTER_WITH(row21_two_devices, begin(), "HAZARDS=alone", "STANDIN_DEVICES=2")
{
	CUcontext second;
	int count = 0;

	OK(cu.cuDeviceGetCount(&count));
	if (count < 2)
		SKIP("one device only");
	char *block = hot(BYTES);
	OK(cu.cuCtxCreate_v2(&second, 0, 1));
	begin_context();
	agrees(block, BYTES);
	CHECK_EQ(is_pinned(block), preloaded());
	free(block);
}

/* Returns the runtime's last error, if a runtime is loaded. */
static int last_error(const char *name)
{
	static const char *const names[] = { "libcudart.so.13", "libcudart.so.12",
					     "libcudart.so.11.0" };
	void *runtime = NULL;

	for (int i = 0; i < 3 && runtime == NULL; i++)
		runtime = dlopen(names[i], RTLD_NOW);
	int (*ask)(void) = runtime != NULL ? (int (*)(void))dlsym(runtime, name) : NULL;
	return ask != NULL ? ask() : -1;
}

/* A registration of the library that the driver refuses is no error of the program. */
TEST_AFTER_WITH(row22_last_error, begin(), "HAZARDS=alone",
		"STANDIN_FAIL=cuMemHostRegister:1:1,cuMemHostRegister:2:2,cuMemHostRegister:3:801")
{
	if (last_error("cudaGetLastError") < 0)
		SKIP("no libcudart");
	for (int i = 0; i < 4; i++) {
		char *block = malloc(BYTES);

		memset(block, 1, BYTES);
		/* Unnoticed by the library: pages that cannot be registered for writing. */
		CHECK_EQ(syscall(SYS_mprotect, inner(block), INSIDE, PROT_READ), 0);
		for (int n = 0; n < 10; n++)
			OK(cu.cuMemcpyHtoD_v2(there, block, BYTES));
		CHECK_EQ(last_error("cudaPeekAtLastError"), 0);
		CHECK_EQ(last_error("cudaGetLastError"), 0);
		CHECK_EQ(syscall(SYS_mprotect, inner(block), INSIDE, PROT_READ | PROT_WRITE), 0);
		free(block);
	}
	agrees(malloc(BYTES), BYTES);
	CHECK_EQ(last_error("cudaGetLastError"), 0);
}

/* Handlers that run after the driver's own: frees, allocations, copies that may fail. */
static char *late[3];

static void at_the_very_end(void)
{
	for (int i = 0; i < 3; i++) {
		free(late[i]);
		late[i] = malloc(BYTES << i);
		memset(late[i], i, BYTES << i);
	}
	cu.cuMemcpyHtoD_v2(there, late[0], BYTES);
	free(late[1]);
	late[1] = NULL;
}

static void leaves(void (*leave)(int))
{
	if (CHECK_CHILD(7)) {
		atexit(at_the_very_end);
		at_quick_exit(at_the_very_end);
		begin();
		for (int i = 0; i < 3; i++)
			late[i] = hot(BYTES << i);
		spin(stream, 20);
		OK(cu.cuMemcpyHtoDAsync_v2(there, late[0], 100, stream));
		leave(check_failures == 0 ? 7 : 1);
	}
}

CASE_ALONE(row23_exit, leaves(exit))
CASE_ALONE(row23_quick_exit, leaves(quick_exit))
CASE_ALONE(row23__exit, leaves(_exit))

/*
 * Registrations take locks that affect other processes: a loop needs one or two, not one in each
 * turn.
 */
ALONE_AFTER(row24_registrations_are_few, begin())
{
	int (*calls)(const char *) = (int (*)(const char *))stand_in("standin_calls");
	if (calls == NULL)
		SKIP("nobody counts registrations here");
	for (unsigned i = 0; i < 200; i++) {
		char *block = malloc(BYTES);

		fill(block, BYTES, i);
		OK(cu.cuMemcpyHtoD_v2(there, block, BYTES));
		CHECK(i % 20 != 0 || device_holds(there, BYTES, i));
		free(block);
	}
	CHECK(calls("cuMemHostRegister") <= 2 && calls("cuMemHostUnregister") <= 2);
}

/* If the device uses the host's page tables, pinning gains nothing. */
TEST_AFTER_WITH(row30_host_page_tables, begin(), "HAZARDS=alone", "STANDIN_HMM=1", "STANDIN_ATS=1")
{
	int yes = 0;

	OK(cu.cuDeviceGetAttribute(
		&yes, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, 0));
	if (!yes)
		SKIP("this device does not");
	CHECK_EQ(pinned_of_many(4), 0);
}

TEST_AFTER_WITH(row30_heterogeneous_memory, begin(), "HAZARDS=alone", "STANDIN_HMM=1")
{
	char *block = hot(BYTES);

	agrees(block, BYTES);
	SEE("prefetch", cu.cuMemPrefetchAsync((CUdeviceptr)inner(block), MIB, 0, stream));
	SEE("and wait", cu.cuStreamSynchronize(stream));
	agrees(block, BYTES);
	free(block);
}
