/*
 * defer_order.c - rows 3, 4, 5 and 26: other streams, threads and contexts, and other copies of the
 * same memory.
 */
#include "thread.h"
#include "shapes.h"
#include "defer.h"

/* Looks from `stream`, a non-blocking one, which nothing orders without the library. */
#define LOOK(id, act)                                         \
	static CUdeviceptr look_##id(const struct upload *up) \
	{                                                     \
		act;                                          \
		goes(stream);                                 \
		OK(cu.cuStreamSynchronize(stream));           \
		return SEEN;                                  \
	}                                                     \
	TEST(id)                                              \
	{                                                     \
		EACH(look_##id);                              \
	}

static void kernel_ex(const struct upload *up)
{
	CUdeviceptr to = SEEN, from = up->to;
	size_t bytes = up->bytes;
	void *arguments[] = { &to, &from, &bytes };
	CUlaunchConfig config = { .gridDimX = 4,
				  .gridDimY = 1,
				  .gridDimZ = 1,
				  .blockDimX = 256,
				  .blockDimY = 1,
				  .blockDimZ = 1,
				  .hStream = stream };

	OK(cu.cuLaunchKernelEx(&config, kernels.copy, arguments, NULL));
}

static void cooperative(const struct upload *up)
{
	CUdeviceptr to = SEEN, from = up->to;
	size_t bytes = up->bytes;
	void *arguments[] = { &to, &from, &bytes };

	OK(cu.cuLaunchCooperativeKernel(kernels.copy, 4, 1, 1, 256, 1, 1, 0, stream, arguments));
}

static void in_rows(const struct upload *up)
{
	CUDA_MEMCPY2D rows = shape_rows(in_device(SEEN, up->bytes / 4),
					in_device(up->to, up->bytes / 4), up->bytes / 4, 4);

	OK(cu.cuMemcpy2DAsync_v2(&rows, stream));
}

static void in_boxes(const struct upload *up)
{
	CUDA_MEMCPY3D box = shape_box(in_device(SEEN, up->bytes / 4), 2,
				      in_device(up->to, up->bytes / 4), 2, up->bytes / 4, 2, 2);

	OK(cu.cuMemcpy3DAsync_v2(&box, stream));
}

/* A copy of no bytes orders nothing. */
static void after_nothing(const struct upload *up)
{
	static char block[64];

	OK(cu.cuMemcpyDtoH_v2(block, up->to + up->bytes, 0));
	copy_by_kernel(stream, SEEN, up->to, up->bytes);
}

LOOK(row03_kernel_after_an_empty_download, after_nothing(up))
LOOK(row03_kernel, copy_by_kernel(stream, SEEN, up->to, up->bytes))
LOOK(row03_kernel_by_configuration, kernel_ex(up))
LOOK(row03_cooperative_kernel, cooperative(up))
LOOK(row03_device_copy, OK(cu.cuMemcpyDtoDAsync_v2(SEEN, up->to, up->bytes, stream)))
LOOK(row03_either_way, OK(cu.cuMemcpyAsync(SEEN, up->to, up->bytes, stream)))
LOOK(row03_peer_copy, OK(cu.cuMemcpyPeerAsync(SEEN, primary, up->to, primary, up->bytes, stream)))
LOOK(row03_rows, in_rows(up))
LOOK(row03_boxes, in_boxes(up))

/* Some streams existed before, some did not. */
static void new_stream(const struct upload *up)
{
	CUstream other;

	OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	copy_by_kernel(other, SEEN, up->to, up->bytes);
	OK(cu.cuStreamSynchronize(other));
	OK(cu.cuStreamDestroy_v2(other));
}

/* The second stream is ordered after the copy only by the first one. */
static void chained(const struct upload *up)
{
	CUstream other;
	CUevent event;

	OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	copy_by_kernel(stream, SEEN, up->to, up->bytes);
	OK(cu.cuEventRecord(event, stream));
	OK(cu.cuStreamWaitEvent(other, event, 0));
	copy_by_kernel(other, SEEN + 8 * MIB, SEEN, up->bytes);
	OK(cu.cuStreamSynchronize(other));
	CHECK(device_holds(SEEN + 8 * MIB, up->bytes, up->seed));
	OK(cu.cuEventDestroy_v2(event));
	OK(cu.cuStreamDestroy_v2(other));
}

/* They are not ordered among each other; each looks twice. */
static void several(const struct upload *up)
{
	static CUstream others[3];

	for (unsigned i = 0; i < 3; i++)
		if (others[i] == NULL)
			OK(cu.cuStreamCreate(&others[i], CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 6; i++)
		copy_by_kernel(others[i % 3], SEEN + i * UPLOAD_MOST, up->to, up->bytes);
	for (unsigned i = 0; i < 3; i++)
		OK(cu.cuStreamSynchronize(others[i]));
	for (unsigned i = 1; i < 6; i++)
		CHECK(device_holds(SEEN + i * UPLOAD_MOST, up->bytes, up->seed));
}

/*
 * An event of `on`, recorded after the copy, represents it for every thread that waits for the
 * event.
 */
static void by_event(const struct upload *up, CUstream on)
{
	CUevent event;

	OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	OK(cu.cuEventRecord(event, on));
	OK(cu.cuStreamWaitEvent(stream, event, 0));
	copy_by_kernel(stream, SEEN, up->to, up->bytes);
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuEventDestroy_v2(event));
}

/* A legacy event also covers later work of a blocking stream. */
static void by_legacy_event(const struct upload *up)
{
	CUevent event;

	OK(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	uint32_t number = work(blocking, WORD(5));
	copy_by_kernel(blocking, SEEN + 8 * MIB, up->to, up->bytes);
	OK(cu.cuEventRecord(event, NULL));
	OK(cu.cuStreamWaitEvent(stream, event, 0));
	copy_by_kernel(stream, SEEN, SEEN + 8 * MIB, up->bytes);
	copy_by_kernel(stream, WORD(6), WORD(5), 4);
	OK(cu.cuStreamSynchronize(stream));
	CHECK_EQ(word_of(WORD(6)), number);
	OK(cu.cuEventDestroy_v2(event));
}

static void by_own_stream(const struct upload *up)
{
	CUdeviceptr to = SEEN, from = up->to;
	size_t bytes = up->bytes;
	void *arguments[] = { &to, &from, &bytes };

	OK(own.launch(kernels.copy, 8, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
	goes(CU_STREAM_PER_THREAD);
	OK(own.wait(NULL));
}

LOOK(row03_a_new_stream, new_stream(up))
LOOK(row03_stream_after_stream, chained(up))
LOOK(row03_several_streams, several(up))
LOOK(row03_event_of_the_legacy_stream, by_event(up, NULL))
LOOK(row03_event_of_a_blocking_stream, by_event(up, blocking))
LOOK(row03_event_of_the_same_stream, by_event(up, stream))
LOOK(row03_legacy_event_for_blocking_streams, by_legacy_event(up))
LOOK(row03_blocking_stream, copy_by_kernel(blocking, SEEN, up->to, up->bytes);
     OK(cu.cuStreamSynchronize(blocking)))
LOOK(row03_legacy_stream, copy_by_kernel(NULL, SEEN, up->to, up->bytes);
     OK(cu.cuStreamSynchronize(NULL)))
LOOK(row03_own_stream, by_own_stream(up))
LOOK(row03_own_stream_by_handle, copy_by_kernel(CU_STREAM_PER_THREAD, SEEN, up->to, up->bytes);
     OK(cu.cuStreamSynchronize(CU_STREAM_PER_THREAD)))
LOOK(row03_synchronous_device_copy, OK(cu.cuMemcpyDtoD_v2(SEEN, up->to, up->bytes));
     OK(cu.cuCtxSynchronize()))

/* Downloads to memory of any kind. */
#define BACK(id, how)                                         \
	static CUdeviceptr look_##id(const struct upload *up) \
	{                                                     \
		static char quiet[UPLOAD_MOST];               \
                                                              \
		memset(quiet, 0, up->bytes);                  \
		OK(how);                                      \
		CHECK(holds(quiet, up->bytes, up->seed));     \
		return up->to;                                \
	}                                                     \
	TEST(id)                                              \
	{                                                     \
		EACH(look_##id);                              \
	}

static CUresult rows_back(char *to, const struct upload *up)
{
	CUDA_MEMCPY2D rows =
		shape_rows(in_host(to, up->bytes), in_device(up->to, up->bytes), up->bytes, 1);

	return cu.cuMemcpy2D_v2(&rows);
}

BACK(row03_back_on_another_stream, cu.cuMemcpyDtoHAsync_v2(quiet, up->to, up->bytes, stream))
BACK(row03_back, cu.cuMemcpyDtoH_v2(quiet, up->to, up->bytes))
BACK(row03_back_by_own_stream, own.get(quiet, up->to, up->bytes))
BACK(row03_back_either_way, cu.cuMemcpy((CUdeviceptr)quiet, up->to, up->bytes))
BACK(row03_back_as_rows, rows_back(quiet, up))

/* Later writes of another stream stay. */
static CUdeviceptr stay(const struct upload *up, unsigned char value)
{
	goes(stream);
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuCtxSynchronize());
	CHECK(device_is(up->to, up->bytes, value));
	return 0;
}

static CUdeviceptr overwrite(const struct upload *up)
{
	OK(cu.cuMemsetD8Async(up->to, 0x77, up->bytes, stream));
	return stay(up, 0x77);
}

CASE(row03_memset, EACH(overwrite))

static CUdeviceptr overwrite_rows(const struct upload *up)
{
	OK(cu.cuMemsetD2D8Async(up->to, up->bytes / 4, 0x78, up->bytes / 4, 4, stream));
	return stay(up, 0x78);
}

CASE(row03_memset_of_rows, EACH(overwrite_rows))

static CUdeviceptr write_value(const struct upload *up)
{
	CUresult result = cu.cuStreamWriteValue32_v2(stream, up->to, 0x76767676, 0);

	SEE("written", result);
	goes(stream);
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuCtxSynchronize());
	CHECK(result != CUDA_SUCCESS || word_of(up->to) == 0x76767676);
	return 0;
}

CASE_ALONE(row03_write_value, EACH(write_value))

/* ---- other threads ---- */

static void *look_from_a_stream(void *arg)
{
	const struct upload *up = arg;
	CUstream other;

	OK(cu.cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	copy_by_kernel(other, SEEN, up->to, up->bytes);
	OK(cu.cuStreamSynchronize(other));
	OK(cu.cuStreamDestroy_v2(other));
	return NULL;
}

static void *look_from_own_stream(void *arg)
{
	by_own_stream(arg);
	return NULL;
}

static void *look_by_copy(void *arg)
{
	const struct upload *up = arg;
	char *block = malloc(up->bytes);

	OK(cu.cuMemcpyDtoH_v2(block, up->to, up->bytes));
	CHECK(holds(block, up->bytes, up->seed));
	OK(own.get(block, up->to, up->bytes));
	CHECK(holds(block, up->bytes, up->seed));
	free(block);
	return NULL;
}

static CUdeviceptr thread_looks(const struct upload *up)
{
	in_thread(look_from_a_stream, (void *)up);
	return SEEN;
}

CASE_ALONE(row04_stream_of_another_thread, EACH(thread_looks))

static CUdeviceptr own_stream_looks(const struct upload *up)
{
	in_thread(look_from_own_stream, (void *)up);
	return SEEN;
}

CASE_ALONE(row04_own_stream_of_another_thread, EACH(own_stream_looks))

static CUdeviceptr thread_copies(const struct upload *up)
{
	in_thread(look_by_copy, (void *)up);
	return up->to;
}

CASE_ALONE(row04_copy_of_another_thread, EACH(thread_copies))

/* The thread that copied has ended. */
struct errand {
	struct upload up;
	unsigned i, turn;
};

static void *upload_there(void *arg)
{
	struct errand *errand = arg;

	upload(&errand->up, TARGET, errand->i, errand->turn);
	return NULL;
}

ALONE_AFTER(row04_thread_has_ended, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct errand errand = { .i = i, .turn = 2 };

		in_thread(upload_there, &errand);
		copy_by_kernel(stream, SEEN, TARGET, errand.up.bytes);
		OK(cu.cuStreamSynchronize(stream));
		CHECK(device_holds(SEEN, errand.up.bytes, errand.up.seed));
	}
}

static void small_put(CUdeviceptr to, size_t bytes, unsigned seed, bool per_thread)
{
	char *block = malloc(bytes);

	fill(block, bytes, seed);
	OK((per_thread ? own.put : cu.cuMemcpyHtoD_v2)(to, block, bytes));
	memset(block, 0xee, bytes);
	if (per_thread)
		goes(CU_STREAM_PER_THREAD);
	free(block);
}

/* A thread without a context creates or selects one, which completes no copy. */
static void *without_context(void *arg)
{
	CUcontext context = NULL;
	const unsigned *which = arg;

	if (*which % 2 == 0) {
		OK(cu.cuDevicePrimaryCtxRetain(&context, 0));
		OK(cu.cuDevicePrimaryCtxRelease_v2(0));
	} else {
		OK(cu.cuCtxCreate_v2(&context, 0, 0));
		OK(cu.cuCtxDestroy_v2(context));
	}
	return NULL;
}

ALONE_AFTER(row04_thread_without_a_context, defer_begin())
{
	for (unsigned i = 0; i < UPLOADS && check_failures == 0; i++) {
		struct upload one;
		upload(&one, TARGET, i, 4);
		check_in_thread(without_context, &i);
		copy_by_kernel(stream, SEEN, TARGET, one.bytes);
		OK(cu.cuStreamSynchronize(stream));
		CHECK(device_holds(SEEN, one.bytes, one.seed));
	}
}

/* ---- other contexts and devices ---- */

static CUcontext second;
static CUdeviceptr second_there;
static CUstream second_stream;

static void begin_second(int device)
{
	defer_begin();
	OK(cu.cuCtxCreate_v2(&second, 0, device));
	OK(cu.cuMemAlloc_v2(&second_there, 8 * MIB));
	OK(cu.cuStreamCreate(&second_stream, CU_STREAM_NON_BLOCKING));
	OK(cu.cuCtxSetCurrent(primary));
}

static CUdeviceptr second_context_copies(const struct upload *up)
{
	OK(cu.cuCtxSetCurrent(second));
	OK(cu.cuMemcpyPeerAsync(second_there, second, up->to, primary, up->bytes, second_stream));
	goes(second_stream);
	OK(cu.cuStreamSynchronize(second_stream));
	CHECK(device_holds(second_there, up->bytes, up->seed));
	OK(cu.cuCtxSetCurrent(primary));
	return up->to;
}

CASE_ALONE(row05_copy_by_another_context, begin_second(0); EACH(second_context_copies))

static CUdeviceptr second_context_copies_synchronously(const struct upload *up)
{
	OK(cu.cuCtxPushCurrent_v2(second));
	OK(cu.cuMemcpyPeer(second_there, second, up->to, primary, up->bytes));
	goes(NULL);
	OK(cu.cuCtxSynchronize());
	CHECK(device_holds(second_there, up->bytes, up->seed));
	OK(cu.cuCtxPopCurrent_v2(NULL));
	return up->to;
}

CASE_ALONE(row05_synchronous_copy_by_another_context, begin_second(0);
	   EACH(second_context_copies_synchronously))

/* A blocking stream of the other context is only ordered with that context's legacy stream. */
static CUdeviceptr stream_of_second_copies(const struct upload *up)
{
	static CUstream foreign;

	if (foreign == NULL) {
		OK(cu.cuCtxSetCurrent(second));
		OK(cu.cuStreamCreate(&foreign, CU_STREAM_DEFAULT));
		OK(cu.cuCtxSetCurrent(primary));
	}
	CUresult result =
		cu.cuMemcpyPeerAsync(second_there, second, up->to, primary, up->bytes, foreign);
	SEE("copied", result);
	OK(cu.cuCtxSetCurrent(second));
	goes(foreign);
	SEE("and over", cu.cuStreamSynchronize(foreign));
	CHECK(result != CUDA_SUCCESS || device_holds(second_there, up->bytes, up->seed));
	OK(cu.cuCtxSetCurrent(primary));
	return up->to;
}

CASE_ALONE(row05_copy_by_a_stream_of_another_context, begin_second(0);
	   EACH(stream_of_second_copies))

/* Uploads of two contexts are in flight at the same time. */
static CUdeviceptr both_upload(const struct upload *up)
{
	char block[64];

	fill(block, sizeof(block), 99);
	OK(cu.cuCtxSetCurrent(second));
	OK(cu.cuMemcpyHtoD_v2(second_there, block, sizeof(block)));
	memset(block, 0, sizeof(block));
	OK(cu.cuCtxSetCurrent(primary));
	copy_by_kernel(stream, SEEN, up->to, up->bytes);
	OK(cu.cuStreamSynchronize(stream));
	OK(cu.cuCtxSetCurrent(second));
	CHECK(device_holds(second_there, sizeof(block), 99));
	OK(cu.cuCtxSetCurrent(primary));
	return SEEN;
}

CASE_ALONE(row05_two_contexts_upload, begin_second(0); EACH(both_upload))

/* Events and streams are queried while another context is current. */
static CUdeviceptr asks_from_another_context(const struct upload *up)
{
	OK(cu.cuCtxSetCurrent(second));
	SEE("query", cu.cuStreamQuery(blocking));
	SEE("wait", cu.cuStreamSynchronize(blocking));
	OK(cu.cuCtxSynchronize());
	OK(cu.cuCtxSetCurrent(primary));
	copy_by_kernel(stream, SEEN, up->to, up->bytes);
	OK(cu.cuStreamSynchronize(stream));
	CHECK(device_holds(SEEN, up->bytes, up->seed));
	return up->to;
}

CASE_ALONE(row05_queries_from_another_context, begin_second(0); EACH(asks_from_another_context))

TEST_AFTER_WITH(row05_copy_by_another_device, defer_begin(), "HAZARDS=alone", "STANDIN_DEVICES=2")
{
	int count = 0;

	OK(cu.cuDeviceGetCount(&count));
	if (count < 2)
		SKIP("one device only");
	begin_second(1);
	EACH(second_context_copies);
	EACH(second_context_copies_synchronously);
}

/* ---- several copies of the same memory ---- */

static CUdeviceptr second_upload(const struct upload *up)
{
	small_put(up->to, up->bytes, up->seed + 100, up->per_thread);
	CHECK(device_holds(up->to, up->bytes, up->seed + 100));
	return 0;
}

CASE(row26_two_uploads, EACH(second_upload))

/* One copy on the legacy stream, one on the thread's own: the driver orders these. */
static CUdeviceptr other_upload(const struct upload *up)
{
	small_put(up->to, up->bytes, up->seed + 100, !up->per_thread);
	CHECK(device_holds(up->to, up->bytes, up->seed + 100));
	return 0;
}

CASE(row26_two_uploads_of_two_flavors, EACH(other_upload))

static void *own_upload(void *arg)
{
	const struct upload *up = arg;

	small_put(up->to, up->bytes, up->seed + 100, true);
	return NULL;
}

static CUdeviceptr upload_by_another_thread(const struct upload *up)
{
	in_thread(own_upload, (void *)up);
	CHECK(device_holds(up->to, up->bytes, up->seed + 100));
	return 0;
}

CASE_ALONE(row26_two_uploads_of_two_threads, EACH(upload_by_another_thread))

static CUdeviceptr asynchronous_upload(const struct upload *up)
{
	char *block = malloc(up->bytes);

	fill(block, up->bytes, up->seed + 100);
	OK(cu.cuMemcpyHtoDAsync_v2(up->to, block, up->bytes, stream));
	goes(stream);
	memset(block, 0xee, up->bytes);
	OK(cu.cuStreamSynchronize(stream));
	CHECK(device_holds(up->to, up->bytes, up->seed + 100));
	free(block);
	return 0;
}

CASE(row26_asynchronous_upload_behind, EACH(asynchronous_upload))

/* The source of the second upload is what the first has brought, downloaded to the host. */
static CUdeviceptr down_and_up(const struct upload *up)
{
	char *block = malloc(up->bytes);

	OK(cu.cuMemcpyDtoH_v2(block, up->to, up->bytes));
	OK(cu.cuMemcpyHtoD_v2(SEEN, block, up->bytes));
	memset(block, 0xee, up->bytes);
	CHECK(device_holds(SEEN, up->bytes, up->seed));
	OK(cu.cuMemcpyDtoHAsync_v2(block, up->to, up->bytes, stream));
	OK(cu.cuMemcpyHtoD_v2(SEEN + 8 * MIB, block, up->bytes));
	free(block);
	CHECK(device_holds(SEEN + 8 * MIB, up->bytes, up->seed));
	return SEEN;
}

CASE(row26_down_and_up_again, EACH(down_and_up))
