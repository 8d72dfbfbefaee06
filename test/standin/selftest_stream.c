/*
 * selftest_stream.c - tests of the order of execution: streams, events, kernels, and times of
 * copies.
 */
#include "selftest.h"

#include <pthread.h>
#include <sched.h>

static void launch(CUstream s)
{
	CHECK_EQ(cuLaunchKernel(kernel("standin_noop"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL), 0);
}

/* A kernel of two parameters that adds to a device integer. */
STANDIN_EXPORT standin_twin_fn standin_twin__Z3addPii;
void standin_twin__Z3addPii(const unsigned grid[3], const unsigned block[3], void **args)
{
	*(int *)standin_host(*(CUdeviceptr *)args[0]) +=
		*(int *)args[1] * (int)(grid[0] * block[0]);
}

STANDIN_EXPORT extern const unsigned standin_args_plain[];
const unsigned standin_args_plain[] = { 8, 4, 0 };
STANDIN_EXPORT standin_twin_fn standin_twin_plain;
void standin_twin_plain(const unsigned grid[3], const unsigned block[3], void **args)
{
	standin_twin_ns(1000000);
	standin_twin__Z3addPii(grid, block, args);
}

STANDIN_EXPORT standin_twin_fn standin_twin__Z5faultv;
void standin_twin__Z5faultv(const unsigned grid[3], const unsigned block[3], void **args)
{
	(void)grid, (void)block, (void)args;
	standin_twin_fault(CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST(arguments_are_taken_at_the_launch)
{
	int addend = 5, sum = 0;
	CUdeviceptr at;
	void *args[] = { &at, &addend };

	start();
	at = device(4);
	CHECK_EQ(cuMemsetD32(at, 0, 1), 0);
	CHECK_EQ(cuLaunchKernel(kernel("_Z3addPii"), 2, 1, 1, 3, 1, 1, 0, NULL, args, NULL), 0);
	addend = 100;
	CHECK_EQ(cuLaunchKernel(kernel("plain"), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL), 0);
	CHECK_EQ(*(int *)standin_host(at), (int)0xcdcdcdcd);
	CHECK_EQ(cuMemcpyDtoH(&sum, at, 4), 0);
	CHECK_EQ(sum, 130);
	CHECK(standin_clock_ns() > 1000000);
}

static CUdeviceptr marked;
static _Atomic bool marks_returned;

static void *mark(void *context)
{
	CHECK_EQ(cuCtxSetCurrent(context), 0);
	CHECK_EQ(cuMemsetD8_v2(marked, 1, 1), 0);
	CHECK_EQ(cuMemsetD8_v2(marked, 2, 1), 0);
	marks_returned = true;
	return NULL;
}

/* Stops the second of two calls before its effect, and after it; others pass. */
static void hold_the_second(enum standin_place place, int expected)
{
	pthread_t thread;
	CUcontext context = start();

	marked = device(1);
	CHECK_EQ(cuMemsetD8_v2(marked, 0, 1), 0);
	standin_hold("cuMemsetD8", place, 1);
	CHECK_EQ(pthread_create(&thread, NULL, mark, context), 0);
	while (standin_held() == 0)
		sched_yield();
	CHECK_EQ(standin_held(), 1);
	standin_step_all();
	CHECK_EQ(*(char *)standin_host(marked), expected);
	CHECK_EQ(cuCtxSynchronize(), 0);
	CHECK(!marks_returned);
	standin_release();
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK(marks_returned);
	CHECK_EQ(standin_held(), 0);
	standin_step_all();
	CHECK_EQ(*(char *)standin_host(marked), 2);
	/* No call is held any longer. */
	CHECK_EQ(cuMemsetD8_v2(marked, 3, 1), 0);
	CHECK_EQ(cuMemsetD8_v2(marked, 3, 1), 0);
}

CASE(a_call_is_held_before_its_effect, hold_the_second(STANDIN_AT_CALL, 1))
CASE(a_call_is_held_after_its_effect, hold_the_second(STANDIN_AT_RETURN, 2))

TEST(a_kernel_without_twin_or_with_bad_dimensions_fails)
{
	start();
	CHECK_EQ(cuLaunchKernel(kernel("_Z7unknownv"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		 CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(cuLaunchKernel(kernel("standin_noop"), 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
		 CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuLaunchKernel(kernel("standin_noop"), 1, 1, 1, 1025, 1, 1, 0, NULL, NULL, NULL),
		 CUDA_ERROR_INVALID_VALUE);
}

TEST(a_fault_sticks_to_the_context)
{
	start();
	CHECK_EQ(cuLaunchKernel(kernel("_Z5faultv"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), 0);
	launch(NULL);
	CHECK_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(cuMemAlloc(&(CUdeviceptr){ 0 }, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(cuDevicePrimaryCtxReset(0), 0);
	start();
	CHECK_EQ(cuMemAlloc(&(CUdeviceptr){ 0 }, 16), 0);
}

TEST(streams_move_only_when_stepped)
{
	CUstream a, b;

	start();
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	for (int i = 0; i < 3; i++)
		launch(a);
	launch(b);
	CHECK_EQ(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	CHECK_EQ(standin_step(a, 2), 2);
	CHECK_EQ(standin_pending(a), 1);
	CHECK_EQ(cuStreamSynchronize(a), 0);
	CHECK_EQ(cuStreamQuery(a), 0);
	CHECK_EQ(standin_pending(b), 1);
	CHECK_EQ(standin_step_all(), 1);
	CHECK_EQ(standin_step(b, 1), 0);
}

static void *other_thread(void *ctx)
{
	unsigned long long *id = calloc(1, sizeof(*id));

	CHECK_EQ(cuCtxSetCurrent((CUcontext)ctx), 0);
	CHECK_EQ(cuStreamGetId(CU_STREAM_PER_THREAD, id), 0);
	return id;
}

TEST(stream_identities)
{
	unsigned long long legacy, mine, first, second;
	CUcontext ctx = start();
	pthread_t thread;
	CUstream a, b;
	void *theirs;

	CHECK_EQ(cuStreamGetId(NULL, &legacy), 0);
	CHECK_EQ(cuStreamGetId(CU_STREAM_LEGACY, &mine), 0);
	CHECK_EQ(legacy, mine);
	CHECK_EQ(cuStreamGetId(CU_STREAM_PER_THREAD, &mine), 0);
	CHECK(mine != legacy);
	pthread_create(&thread, NULL, other_thread, ctx);
	pthread_join(thread, &theirs);
	CHECK(*(unsigned long long *)theirs != mine);
	free(theirs);
	/* A handle is reused immediately, with another stream id. */
	a = stream(0);
	CHECK_EQ(cuStreamGetId(a, &first), 0);
	CHECK_EQ(cuStreamDestroy(a), 0);
	CHECK_EQ(cuStreamSynchronize(a), CUDA_ERROR_INVALID_HANDLE);
	b = stream(0);
	CHECK(a == b);
	CHECK_EQ(cuStreamGetId(b, &second), 0);
	CHECK(first != second);
}

static int seen;
static CUresult inside;

static void host_function(void *data)
{
	seen = *(unsigned char *)data;
	inside = cuCtxSynchronize();
}

TEST(host_functions_run_in_order_and_may_not_call)
{
	unsigned char *p = pages(4096, 1);
	CUdeviceptr at;
	CUstream s;

	start();
	at = device(16);
	s = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuMemHostRegister(p, 4096, 0), 0);
	CHECK_EQ(cuMemsetD8Async(at, 8, 16, s), 0);
	CHECK_EQ(cuMemcpyDtoHAsync(p, at, 16, s), 0);
	CHECK_EQ(cuLaunchHostFunc(s, host_function, p), 0);
	CHECK_EQ(seen, 0);
	CHECK_EQ(cuStreamSynchronize(s), 0);
	CHECK_EQ(seen, 8);
	CHECK_EQ(inside, CUDA_ERROR_NOT_PERMITTED);
}

TEST(write_and_wait_values)
{
	CUdeviceptr at;
	CUstream a, b;

	start();
	at = device(8);
	CHECK_EQ(cuMemsetD32(at, 0, 2), 0);
	CHECK_EQ(cuCtxSynchronize(), 0);
	a = stream(CU_STREAM_NON_BLOCKING);
	b = stream(CU_STREAM_NON_BLOCKING);
	CHECK_EQ(cuStreamWaitValue32(a, at, 7, CU_STREAM_WAIT_VALUE_EQ), 0);
	launch(a);
	CHECK_EQ(standin_step(a, 2), 0);
	CHECK_EQ(cuStreamWriteValue32(b, at, 7, 0), 0);
	CHECK_EQ(standin_step(b, 1), 1);
	CHECK_EQ(standin_step(a, 2), 2);
}

TEST(copies_of_every_shape)
{
	unsigned char in[64], out[64] = { 0 };
	CUDA_MEMCPY3D c = { 0 };
	CUdeviceptr a, b;

	start();
	for (int i = 0; i < 64; i++)
		in[i] = (unsigned char)i;
	a = device(256);
	b = device(256);
	CHECK_EQ(cuMemsetD8(a, 0, 256), 0);
	c.srcMemoryType = CU_MEMORYTYPE_HOST;
	c.srcHost = in;
	c.srcPitch = 4;
	c.srcHeight = 4;
	c.srcY = 1;
	c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	c.dstDevice = a;
	c.dstPitch = 8;
	c.dstHeight = 3;
	c.dstXInBytes = 1;
	c.WidthInBytes = 3;
	c.Height = 2;
	c.Depth = 2;
	CHECK_EQ(cuMemcpy3D(&c), 0);
	CHECK_EQ(cuMemcpyDtoD(b, a, 64), 0);
	CHECK_EQ(cuMemcpy((CUdeviceptr)out, b, 64), 0);
	CHECK_EQ(out[0], 0);
	CHECK_EQ(out[1], 4);
	CHECK_EQ(out[3], 6);
	CHECK_EQ(out[4], 0);
	CHECK_EQ(out[9], 8);
	CHECK_EQ(out[25], 20);
	c.srcPitch = 2;
	CHECK_EQ(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
	c.srcPitch = 4;
	c.srcY = 3;
	CHECK_EQ(cuMemcpy3D(&c), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemsetD2D16(a, 16, 0x0102, 2, 3), 0);
	CHECK_EQ(cuMemcpyDtoH(out, a, 64), 0);
	CHECK_EQ(out[32], 2);
	CHECK_EQ(out[35], 1);
	CHECK_EQ(out[36], 0);
}

static void *hammer(void *ctx)
{
	unsigned char in[256], out[256];
	CUdeviceptr at;
	CUstream s;

	CHECK_EQ(cuCtxSetCurrent((CUcontext)ctx), 0);
	CHECK_EQ(cuStreamCreate(&s, CU_STREAM_DEFAULT), 0);
	CHECK_EQ(cuMemAlloc(&at, 256), 0);
	for (int i = 0; i < 200; i++) {
		memset(in, i, sizeof(in));
		memset(out, ~i, sizeof(out));
		CHECK_EQ(cuMemcpyHtoDAsync(at, in, 256, s), 0);
		CHECK_EQ(cuMemcpyDtoHAsync(out, at, 256, s), 0);
		CHECK(memcmp(in, out, 256) == 0);
		if (i % 16 == 0)
			CHECK_EQ(cuCtxSynchronize(), 0);
	}
	CHECK_EQ(cuMemFree(at), 0);
	CHECK_EQ(cuStreamDestroy(s), 0);
	return NULL;
}

TEST(threads_share_a_context)
{
	CUcontext ctx = start();
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, hammer, ctx);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

CHECK_MAIN()
