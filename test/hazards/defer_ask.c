/*
 * defer_ask.c - rows 6, 7, 9, 10, 16 and 24: queries after a copy, frees after it, errors that it
 * returns, and other ways to reach the driver.
 */
#include "defer.h"
#include "../standin/standin.h"

/* ---- queries, waits, times ---- */

/* The work and the copy are complete, no matter which query comes first. */
#define ASK_IN(test, id, ...)                                \
	static CUdeviceptr ask_##id(const struct upload *up) \
	{                                                    \
		time_passes();                               \
		__VA_ARGS__;                                 \
		return up->to;                               \
	}                                                    \
	test(id)                                             \
	{                                                    \
		EACH(ask_##id);                              \
	}
#define ASK(id, ...) ASK_IN(TEST, id, __VA_ARGS__)

ASK(row06_query_of_the_stream, CHECK_EQ(cu.cuStreamQuery(up->behind), CUDA_SUCCESS))
ASK(row06_query_of_the_legacy_stream, CHECK_EQ(cu.cuStreamQuery(NULL), CUDA_SUCCESS))
ASK(row06_query_of_own_stream, CHECK_EQ(own.query(NULL), CUDA_SUCCESS))
ASK(row06_query_of_another_stream, CHECK_EQ(cu.cuStreamQuery(stream), CUDA_SUCCESS))

static void *query_there(void *arg)
{
	const struct upload *up = arg;

	CHECK_EQ(cu.cuStreamQuery(up->behind == CU_STREAM_PER_THREAD ? NULL : up->behind),
		 CUDA_SUCCESS);
	return NULL;
}

ASK_IN(ALONE, row06_query_of_another_thread, in_thread(query_there, (void *)up))

/* A thread that waits has waited. */
ASK(row06_wait_for_the_stream,
    OK(cu.cuStreamSynchronize(up->per_thread ? CU_STREAM_PER_THREAD : NULL));
    CHECK(is_over()))
ASK(row06_wait_for_all, OK(cu.cuCtxSynchronize()); CHECK(is_over()))

static CUevent before, after, mark;

static void record_before(const struct upload *up)
{
	OK(cu.cuEventRecord(mark, up->behind));
}

/* An event of before the copy is complete, with its time. */
static void each_after_an_event(CUdeviceptr (*look)(const struct upload *))
{
	defer_begin();
	OK(cu.cuEventCreate(&mark, CU_EVENT_DEFAULT));
	scene.also = record_before;
	EACH(look);
	OK(cu.cuEventDestroy_v2(mark));
}

static CUdeviceptr event_has_come(const struct upload *up)
{
	CHECK_EQ(cu.cuEventQuery(mark), CUDA_SUCCESS);
	return up->to;
}

CASE(row06_query_of_an_event_before, each_after_an_event(event_has_come))

static CUdeviceptr time_is_known(const struct upload *up)
{
	float ms = -1;

	/* The time from the event to itself. */
	CHECK_EQ(cu.cuEventElapsedTime(&ms, mark, mark), CUDA_SUCCESS);
	CHECK(ms == 0);
	return up->to;
}

CASE(row06_time_of_an_event_before, each_after_an_event(time_is_known))

/*
 * The time around work and copy is at least that of the work, and known when the last event is
 * complete.
 */
TEST_AFTER(row06_times_around_a_copy, defer_begin())
{
	OK(cu.cuEventCreate(&before, CU_EVENT_DEFAULT));
	OK(cu.cuEventCreate(&after, CU_EVENT_DEFAULT));
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		float ms = -1;

		OK(cu.cuEventRecord(before, NULL));
		upload(&one, TARGET, i, 0);
		OK(cu.cuEventRecord(after, NULL));
		OK(cu.cuEventSynchronize(after));
		OK(cu.cuEventElapsedTime(&ms, before, after));
		CHECK(ms >= (float)work_us() / 1000 * 0.95f && ms < 500);
		CHECK(device_holds(TARGET, one.bytes, one.seed));
	}
	OK(cu.cuEventDestroy_v2(before));
	OK(cu.cuEventDestroy_v2(after));
}

/* A thread that only polls comes to an end. */
static bool polled(CUevent event)
{
	for (int i = 0; i < 2000; i++) {
		CUresult result = cu.cuEventQuery(event);

		if (result != CUDA_ERROR_NOT_READY)
			return result == CUDA_SUCCESS;
		time_passes();
	}
	return false;
}

static CUdeviceptr poll_on(const struct upload *up, CUstream on)
{
	CUevent event;

	OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	copy_by_kernel(on, SEEN, up->to, up->bytes);
	OK(cu.cuEventRecord(event, on));
	CHECK(polled(event));
	OK(cu.cuEventDestroy_v2(event));
	return SEEN;
}

ASK(row06_poll_on_the_legacy_stream, poll_on(up, NULL))
ASK(row06_poll_on_a_blocking_stream, poll_on(up, blocking))
ASK(row06_poll_on_another_stream, poll_on(up, stream))

/* Streams and events are destroyed during work in flight. */
static CUdeviceptr destroys(const struct upload *up)
{
	CUstream other, last;
	CUevent event;

	OK(cu.cuStreamCreate(&other, CU_STREAM_DEFAULT));
	OK(cu.cuStreamCreate(&last, CU_STREAM_NON_BLOCKING));
	OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cu.cuEventRecord(event, NULL));
	OK(cu.cuStreamWaitEvent(last, event, 0));
	copy_by_kernel(last, SEEN, up->to, up->bytes);
	OK(cu.cuEventDestroy_v2(event));
	OK(cu.cuStreamDestroy_v2(other));
	OK(cu.cuStreamDestroy_v2(last));
	return SEEN;
}

CASE(row06_destroyed_at_once, EACH(destroys))

/* ---- frees ---- */

static void put_pattern(CUdeviceptr at, size_t bytes)
{
	OK(cu.cuMemsetD8Async(at, 0x5a, bytes, stream));
	goes(stream);
	OK(cu.cuStreamSynchronize(stream));
}

/* The copy's memory is freed and immediately allocated again. */
TEST_AFTER(row07_free, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		CUdeviceptr at, next;

		OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
		upload(&one, at, i, 4);
		OK(cu.cuMemFree_v2(at));
		OK(cu.cuMemAlloc_v2(&next, UPLOAD_MOST));
		put_pattern(next, one.bytes);
		OK(cu.cuCtxSynchronize());
		CHECK(device_is(next, one.bytes, 0x5a));
		OK(cu.cuMemFree_v2(next));
	}
}

static void *free_there(void *arg)
{
	OK(cu.cuMemFree_v2(*(CUdeviceptr *)arg));
	return NULL;
}

ALONE_AFTER(row07_free_by_another_thread, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		CUdeviceptr at;

		OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
		upload(&one, at, i, 5);
		in_thread(free_there, &at);
		OK(cu.cuMemAlloc_v2(&at, UPLOAD_MOST));
		put_pattern(at, one.bytes);
		OK(cu.cuCtxSynchronize());
		CHECK(device_is(at, one.bytes, 0x5a));
		OK(cu.cuMemFree_v2(at));
	}
}

/* Freed in the order of another stream. */
TEST_AFTER(row07_free_in_stream_order, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		CUdeviceptr at, next;

		OK(cu.cuMemAllocAsync(&at, UPLOAD_MOST, stream));
		OK(cu.cuStreamSynchronize(stream));
		upload(&one, at, i, 6);
		OK(cu.cuMemFreeAsync(at, stream));
		goes(stream);
		/*
		 * If the memory is not allocated again, a copy that comes too late finds nothing.
		 */
		if (i % 2 == 0) {
			OK(cu.cuStreamSynchronize(stream));
			continue;
		}
		OK(cu.cuMemAllocAsync(&next, UPLOAD_MOST, stream));
		put_pattern(next, one.bytes);
		OK(cu.cuCtxSynchronize());
		CHECK(device_is(next, one.bytes, 0x5a));
		OK(cu.cuMemFreeAsync(next, stream));
		OK(cu.cuStreamSynchronize(stream));
	}
}

/* Allocated in the order of the work's stream. */
TEST_AFTER(row07_allocated_in_stream_order, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		CUdeviceptr at;

		work(blocking, WORD(1));
		OK(cu.cuMemAllocAsync(&at, UPLOAD_MOST, NULL));
		upload(&one, at, i, 8);
		copy_by_kernel(stream, SEEN, at, one.bytes);
		OK(cu.cuStreamSynchronize(stream));
		CHECK(device_holds(SEEN, one.bytes, one.seed));
		OK(cu.cuMemFreeAsync(at, NULL));
	}
}

static CUdeviceptr asks_for_memory(const struct upload *up)
{
	size_t left = 0, all = 0;
	CUdeviceptr more;

	OK(cu.cuMemGetInfo_v2(&left, &all));
	CHECK(left > 0 && left <= all);
	OK(cu.cuMemAlloc_v2(&more, MIB));
	OK(cu.cuMemFree_v2(more));
	copy_by_kernel(stream, SEEN, up->to, up->bytes);
	OK(cu.cuStreamSynchronize(stream));
	return SEEN;
}

CASE(row07_other_memory, EACH(asks_for_memory))

static const char with_variable[] = ".version 7.0\n"
				    ".target sm_70\n"
				    ".address_size 64\n"
				    ".visible .global .align 4 .b8 variable[65536];\n"
				    ".visible .entry nothing() { ret; }\n";

/* The destination is a variable of a module that is unloaded. */
TEST_AFTER(row07_module_goes, defer_begin())
{
	for (unsigned i = 0; i < 4; i++) {
		struct upload one;
		CUmodule module;
		CUdeviceptr at;
		size_t bytes;

		OK(cu.cuModuleLoadData(&module, with_variable));
		OK(cu.cuModuleGetGlobal_v2(&at, &bytes, module, "variable"));
		CHECK(bytes >= 65536);
		upload(&one, at, i, 0);
		OK(cu.cuModuleUnload(module));
		OK(cu.cuCtxSynchronize());
	}
}

/* ---- errors ---- */

/* The next call that waits reports a kernel's fault, and so do all later ones. */
static void faults(CUstream on, size_t bytes)
{
	static char block[64 * KIB];
	CUresult waited;

	defer_begin();
	OK(cu.cuLaunchKernel(kernels.trap, 1, 1, 1, 1, 1, 1, 0, on, NULL, NULL));
	CUresult copied = cu.cuMemcpyHtoD_v2(TARGET, block, bytes);
	waited = cu.cuCtxSynchronize();
	CHECK(waited != CUDA_SUCCESS);
	CHECK(copied == CUDA_SUCCESS || copied == waited);
	SEE("waited", waited);
	SEE("copy", cu.cuMemcpyHtoD_v2(TARGET, block, bytes));
	SEE("allocation", cu.cuMemAlloc_v2(&there, 64));
	SEE("query", cu.cuStreamQuery(NULL));
	SEE("and again", cu.cuCtxSynchronize());
}

CASE_ALONE(row09_fault_of_the_legacy_stream, faults(NULL, 64))
CASE_ALONE(row09_fault_of_own_stream, faults(CU_STREAM_PER_THREAD, 4))
CASE_ALONE(row09_fault_before_a_larger_copy, faults(NULL, 64 * KIB))

/* The fault comes after the copy, whose bytes can no longer be read. */
ALONE_AFTER(row09_fault_behind_the_copy, defer_begin())
{
	struct upload one;

	upload(&one, TARGET, 2, 0);
	OK(cu.cuLaunchKernel(kernels.trap, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
	CUresult waited = cu.cuStreamSynchronize(stream);
	CHECK(waited != CUDA_SUCCESS);
	SEE("waited", waited);
	SEE("copy", cu.cuMemcpyHtoD_v2(TARGET, &one, 4));
	SEE("fetch", cu.cuMemcpyDtoH_v2(&one, TARGET, 4));
}

/*
 * The process continues in another context, which has a copy in flight.  On a device, the fault of
 * one context may be reported to all.
 */
ALONE_AFTER(row09_fault_of_another_context, defer_begin())
{
	CUcontext context;
	struct upload one;

	OK(cu.cuCtxCreate_v2(&context, 0, 0));
	begin_context();
	defer_context();
	OK(cu.cuLaunchKernel(kernels.trap, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	CHECK(cu.cuCtxSynchronize() != CUDA_SUCCESS);
	OK(cu.cuCtxSetCurrent(primary));
	CUresult result = cu.cuCtxSynchronize();
	SEE("in the first one", result);
	if (result != CUDA_SUCCESS)
		return;
	begin_context();
	defer_context();
	for (unsigned i = 0; i < 3; i++) {
		upload(&one, TARGET, 2, 4 * i);
		OK(cu.cuCtxSetCurrent(context));
		SEE("in the second one", cu.cuCtxSynchronize());
		OK(cu.cuCtxSetCurrent(primary));
		copy_by_kernel(stream, SEEN, TARGET, one.bytes);
		OK(cu.cuStreamSynchronize(stream));
		CHECK(device_holds(SEEN, one.bytes, one.seed));
	}
	SEE("destroyed", cu.cuCtxDestroy_v2(context));
}

/* ---- arguments ---- */

static void wrong_arguments(void)
{
	static char block[128 * KIB];
	CUdeviceptr small, gone;

	OK(cu.cuMemAlloc_v2(&small, 4096));
	OK(cu.cuMemAlloc_v2(&gone, 2 * MIB));
	OK(cu.cuMemFree_v2(gone));
	for (int round = 0; round < 3; round++) {
		/* First with work that has just begun, then with a copy behind it, then idle. */
		if (round < 2)
			work(round == 0 ? NULL : blocking, WORD(1));
		if (round == 1)
			OK(cu.cuMemcpyHtoD_v2(TARGET, block, 64));
		SEE("to nowhere", cu.cuMemcpyHtoD_v2(0, block, 64));
		SEE("to nowhere, larger", cu.cuMemcpyHtoD_v2(0, block, sizeof(block)));
		SEE("to nowhere, nothing", cu.cuMemcpyHtoD_v2(0, block, 0));
		SEE("nothing", cu.cuMemcpyHtoD_v2(small, block, 0));
		SEE("from nowhere", cu.cuMemcpyHtoD_v2(small, NULL, 64));
		SEE("from nowhere, nothing", cu.cuMemcpyHtoD_v2(small, NULL, 0));
		SEE("to the host", cu.cuMemcpyHtoD_v2((CUdeviceptr)block, block + 4096, 64));
		SEE("to the host, larger",
		    cu.cuMemcpyHtoD_v2((CUdeviceptr)block, block + 4096, 64 * KIB));
		SEE("to what is freed", cu.cuMemcpyHtoD_v2(gone, block, 64));
		SEE("to what is freed, larger", cu.cuMemcpyHtoD_v2(gone, block, 64 * KIB));
		SEE("by own stream to nowhere", own.put(0, block, 64));
		SEE("by own stream to what is freed", own.put(gone, block, 4096));
	}
	OK(cu.cuMemFree_v2(small));
}

CASE(row10_wrong_arguments, defer_begin(); wrong_arguments())

/* A separate allocation is mapped in larger units: memory after its end belongs to the driver. */
TEST_AFTER(row10_too_long, defer_begin())
{
	static char block[256 * KIB];
	CUdeviceptr at;

	OK(cu.cuMemAlloc_v2(&at, 64 * MIB));
	for (int round = 0; round < 2; round++) {
		if (round == 0)
			work(NULL, WORD(1));
		SEE("one byte", cu.cuMemcpyHtoD_v2(at + 64 * MIB - 63, block, 64));
		/* Unless that memory belongs to another allocation. */
		CUmemorytype type;
		bool known = cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
						      at + 64 * MIB) == CUDA_SUCCESS;
		SEE("wholly behind", known ? CUDA_ERROR_INVALID_VALUE
					   : cu.cuMemcpyHtoD_v2(at + 64 * MIB, block, 64));
		SEE("half", cu.cuMemcpyHtoD_v2(at + 64 * MIB - 64 * KIB, block, 128 * KIB));
		SEE("without an end", cu.cuMemcpyHtoD_v2(at, block, (size_t)-1));
	}
	OK(cu.cuMemFree_v2(at));
}

ALONE(row10_no_context)
{
	static char block[64 * KIB];
	CUcontext context;

	find_driver();
	SEE("not initialized", cu.cuMemcpyHtoD_v2(4096, block, 64));
	defer_begin();
	work(NULL, WORD(1));
	OK(cu.cuMemcpyHtoD_v2(TARGET, block, 64));
	OK(cu.cuCtxSetCurrent(NULL));
	SEE("no context", cu.cuMemcpyHtoD_v2(TARGET, block, 64));
	SEE("no context, larger", cu.cuMemcpyHtoD_v2(TARGET, block, sizeof(block)));
	OK(cu.cuCtxCreate_v2(&context, 0, 0));
	OK(cu.cuCtxSetCurrent(primary));
	OK(cu.cuCtxPushCurrent_v2(context));
	OK(cu.cuCtxDestroy_v2(context));
	OK(cu.cuCtxSetCurrent(primary));
	OK(cu.cuMemcpyHtoD_v2(TARGET, block, 64));
	OK(cu.cuCtxSynchronize());
}

/* ---- other ways to the driver ---- */

/* Each library that links the runtime statically opens the driver and looks up functions itself. */
struct library {
	void *driver;
	__typeof__(cuMemcpyHtoD_v2) *put;
	__typeof__(cuMemcpyDtoHAsync_v2) *get_async;
	__typeof__(cuLaunchKernel) *launch;
	__typeof__(cuStreamSynchronize) *wait;
	__typeof__(cuStreamQuery) *query;
};

static void *ask_for(struct library *library, int version, cuuint64_t flags, const char *name)
{
	void *found = NULL;

	if (version == 0)
		return dlsym(library->driver, name);
	OK(FIND(library->driver, cuGetProcAddress_v2)(name, &found, version, flags, NULL));
	return found;
}

static struct library a_library(int version, cuuint64_t flags)
{
	struct library made = { .driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL) };

	made.put = (__typeof__(made.put))ask_for(&made, version, flags,
						 version == 0 ? "cuMemcpyHtoD_v2" : "cuMemcpyHtoD");
	made.get_async = (__typeof__(made.get_async))ask_for(
		&made, version, flags, version == 0 ? "cuMemcpyDtoHAsync_v2" : "cuMemcpyDtoHAsync");
	made.launch = (__typeof__(made.launch))ask_for(&made, version, flags, "cuLaunchKernel");
	made.wait = (__typeof__(made.wait))ask_for(&made, version, flags, "cuStreamSynchronize");
	made.query = (__typeof__(made.query))ask_for(&made, version, flags, "cuStreamQuery");
	return made;
}

TEST_AFTER(row16_libraries_with_runtimes_of_their_own, defer_begin())
{
	struct library all[] = { a_library(0, 0),
				 a_library(12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM),
				 a_library(13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM),
				 a_library(8000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) };
	const unsigned count = sizeof(all) / sizeof(all[0]);

	for (unsigned i = 0; i < count * count && check_failures == 0; i++) {
		struct library *from = &all[i / count], *to = &all[i % count];
		CUdeviceptr seen = SEEN, target = TARGET;
		char block[4096], back[4096];
		size_t bytes = sizeof(block);
		void *arguments[] = { &seen, &target, &bytes };

		OK(cu.cuMemsetD8_v2(SEEN, 0, bytes));
		OK(cu.cuCtxSynchronize());
		work(NULL, WORD(1));
		fill(block, bytes, i);
		OK(from->put(TARGET, block, bytes));
		memset(block, 0xee, bytes);
		if (i / count == 3)
			settle();
		settle_plain();
		OK(to->launch(kernels.copy, 1, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
		goes(stream);
		OK(to->wait(stream));
		OK(to->get_async(back, SEEN, bytes, stream));
		OK(to->wait(stream));
		CHECK(holds(back, bytes, i));
		CHECK_EQ(to->query(stream), CUDA_SUCCESS);
		CHECK_EQ(to->query(NULL), CUDA_SUCCESS);
	}
}

/* A driver function that the library does not know. */
static CUresult (*unknown_thing(bool by_name))(CUdeviceptr at, void *out, size_t bytes)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found = NULL;

	if (by_name)
		return FIND(driver, cuStandinUnknownThing);
	OK(FIND(driver, cuGetProcAddress_v2)("cuStandinUnknownThing", &found, 13000, 0, NULL));
	return (__typeof__(&cuStandinUnknownThing))found;
}

/* The program looks it up before the copies, or between each copy and its use. */
static void unknown(bool by_name, bool first)
{
	__typeof__(&cuStandinUnknownThing) ask = NULL;
	char back[64 * KIB];

	defer_begin();
	if (stand_in("standin_calls") == NULL)
		SKIP("no driver has such a function");
	if (first)
		ask = unknown_thing(by_name);
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;

		/* The first one is deferred. */
		upload(&one, TARGET, i, 8);
		/* It may have made any memory visible to the host. */
		CHECK(i == 0 || is_over());
		if (!first)
			ask = unknown_thing(by_name);
		size_t bytes = one.bytes < sizeof(back) ? one.bytes : sizeof(back);
		OK(ask(TARGET, back, bytes));
		CHECK(holds(back, bytes, one.seed));
	}
}

CASE_WITH(row16_a_function_that_nobody_knows, ("HAZARDS=alone", "STANDIN_EXTRA=1"),
	  unknown(false, true))
CASE_WITH(row16_a_function_that_comes_late, ("HAZARDS=alone", "STANDIN_EXTRA=1"),
	  unknown(false, false))
CASE_WITH(row16_a_function_found_by_name, ("HAZARDS=alone", "STANDIN_EXTRA=1"), unknown(true, true))
