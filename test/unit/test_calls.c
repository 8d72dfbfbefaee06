/*
 * test_calls.c - the host time of driver calls: classes by name, sums over threads, spans.
 */
#include "trace/calls/calls.h"
#include "check.h"
#include "trace/calls/operations.h"

#include <stdatomic.h>
#include <string.h>

TEST(classes)
{
	static const struct {
		const char *name;
		const char *class;
	} rows[] = {
		{ "cuInit", "start_up" },
		{ "cuCtxCreate_v4", "start_up" },
		{ "cuDevicePrimaryCtxRetain", "start_up" },
		{ "cuGetProcAddress_v2", "start_up" },
		{ "cuMemAlloc_v2", "allocate" },
		{ "cuMemAllocFromPoolAsync_ptsz", "allocate" },
		{ "cuMemHostAlloc", "allocate" },
		{ "cuMemHostRegister_v2", "allocate" },
		{ "cuMemPoolCreate", "allocate" },
		{ "cuArray3DCreate_v2", "allocate" },
		{ "cuMemFree_v2", "free" },
		{ "cuMemFreeHost", "free" },
		{ "cuMemFreeAsync_ptsz", "free" },
		{ "cuMemHostUnregister", "free" },
		{ "cuMemPoolDestroy", "free" },
		{ "cuMemPoolTrimTo", "free" },
		{ "cuLaunchKernel", "launch" },
		{ "cuLaunchKernelEx_ptsz", "launch" },
		{ "cuLaunchHostFunc", "launch" },
		{ "cuGraphLaunch", "launch" },
		{ "cuGraphInstantiateWithFlags", "other" },
		{ "cuCtxSynchronize", "synchronize" },
		{ "cuStreamSynchronize_ptsz", "synchronize" },
		{ "cuEventSynchronize", "synchronize" },
		{ "cuMemcpyHtoD_v2", "copy" },
		{ "cuMemcpy3DAsync_v2_ptsz", "copy" },
		{ "cuMemsetD8Async", "memset" },
		{ "cuModuleLoadData", "module" },
		{ "cuLibraryLoadData", "module" },
		{ "cuLinkAddData_v2", "module" },
		{ "cuKernelGetFunction", "module" },
		{ "cuFuncSetAttribute", "module" },
		{ "cuStreamCreateWithPriority", "stream" },
		{ "cuStreamWaitEvent", "stream" },
		{ "cuEventRecord", "stream" },
		{ "cuDeviceGetAttribute", "other" },
		{ "cuMemGetInfo_v2", "other" },
		{ "cuTheFunctionOfTomorrow", "other" },
		{ "", "other" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!CHECK(strcmp(call_class_of(rows[i].name).name, rows[i].class) == 0))
			printf("# %s\n", rows[i].name);
}

static const char *const names[] = { "cuInit", "cuMemAlloc_v2", "cuLaunchKernel" };
enum { INIT, ALLOCATE, LAUNCH };

static const char *name_of(size_t function)
{
	return names[function];
}

static _Atomic uint32_t rung;

static void start(void)
{
	CHECK(operations_start(&rung) == 0);
	calls_start(name_of, NULL, 3);
}

#define CALLS_EACH 5000
static _Atomic unsigned turn;

/* Makes calls of 3 ns each, in spans that no other thread's overlap. */
static void *call_often(void *unused)
{
	uint64_t from = 1000000 * (uint64_t)atomic_fetch_add(&turn, 1);

	for (uint64_t i = 0; i < CALLS_EACH; i++)
		calls_add(LAUNCH, from + 5 * i, from + 5 * i + 3);
	return unused;
}

/* Tables go from thread to thread, and some are used at the same time; nothing is lost. */
TEST(threads)
{
	static struct split_span spans[1 << 20];
	struct split split;
	struct split_sum states;
	struct profile_call sum;

	start();
	split_init(&split, spans, 1 << 20, 0);
	for (int i = 0; i < 100; i++) {
		check_in_threads(4, call_often);
		calls_gather();
		operations_drain(&split);
	}
	calls_read(LAUNCH, &sum);
	CHECK_EQ(sum.count, 400 * CALLS_EACH);
	CHECK_EQ(sum.total_ns, 3 * 400 * CALLS_EACH);
	CHECK_EQ(sum.longest_ns, 3);
	CHECK_EQ(calls_threads(), 400);
	split_finish(&split, 400 * 1000000, &states);
	CHECK_EQ(states.parts.calls_ns, 3 * 400 * CALLS_EACH);
	/* One drain takes what four threads noted before the bell rings. */
	CHECK(atomic_load(&rung) >= 100);
}

CHECK_MAIN()
