/*
 * test_borders.c - copies across the boundary of two blocks whose other side is also host memory,
 * or while another thread pins a block.  test_copies.c tests single copies.
 */
#include "clock.h"
#include "thread.h"
#include "copies.h"

#include <pthread.h>

#define BYTES COPY_LARGE_BYTES

/* Both sides are host memory: one lies within its block, the other extends beyond its own. */
TEST_AFTER(from_a_pinned_block_onto_a_border, begin())
{
	CUstream stream = copy_stream_of(COPY_NON_BLOCKING);
	struct copy_host pair = copy_host_make(COPY_ACROSS, COPY_ROOM);
	char *block = promoted(COPY_ROOM), *to = pair.at + COPY_ROOM / 2;

	fill(block, COPY_ROOM, 7);
	OK(cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)block, COPY_ROOM, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(holds(to, COPY_ROOM, 7));
}

static char *low;
static _Atomic bool has_returned;

/* Runs while the main thread's copy is held in the driver. */
static void *heat_low(void *unused)
{
	OK(cuCtxSetCurrent(context));
	WAIT_FOR(standin_held() == 1 || has_returned);
	for (int i = 0; i < 20; i++)
		heat(low, COPY_ROOM - 64 * KIB);
	standin_release();
	return unused;
}

/*
 * Another thread's copies pin the lower block after the library has checked it, and before the
 * driver does.
 */
static void across_meanwhile(const char *name,
			     CUresult (*copy)(char *to, CUdeviceptr from, size_t bytes))
{
	char *to;
	size_t wrong = 0;

	begin();
	low = copy_host_make(COPY_BETWEEN, COPY_ROOM).at;
	to = low + COPY_ROOM / 2;
	OK(cuMemsetD8_v2(there + 32 * MIB, 7, COPY_ROOM));
	OK(cuCtxSynchronize()); /* the batch's stream does not wait for it */
	standin_hold(name, STANDIN_AT_CALL, 0);
	pthread_t thread = check_thread(heat_low, NULL);
	OK(copy(to, there + 32 * MIB, COPY_ROOM));
	has_returned = true;
	OK(cuCtxSynchronize());
	pthread_join(thread, NULL);
	for (size_t i = 0; i < COPY_ROOM; i++)
		wrong += to[i] != 7;
	CHECK_EQ(wrong, 0);
}

static CUresult copy_by_itself(char *to, CUdeviceptr from, size_t bytes)
{
	return cuMemcpyDtoH_v2(to, from, bytes);
}

static CUresult copy_in_a_batch(char *to, CUdeviceptr from, size_t bytes)
{
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUdeviceptr target = (CUdeviceptr)to;
	size_t index = 0;

	return cuMemcpyBatchAsync_v2(&target, &from, &bytes, 1, &how, &index, 1,
				     copy_stream_of(COPY_NON_BLOCKING));
}

CASE(while_a_block_is_pinned, across_meanwhile("cuMemcpyDtoH", copy_by_itself))
CASE(in_a_batch_while_a_block_is_pinned, across_meanwhile("cuMemcpyBatchAsync", copy_in_a_batch))

/* Returns a block whose next copy pins it. */
static char *filled(unsigned seed)
{
	char *block = malloc(BYTES);

	fill(block, BYTES, seed);
	OK(cuMemcpyHtoD_v2(there, block, BYTES));
	return block;
}

static void *copy_whole(void *arg)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyHtoD_v2(there + 4 * MIB, arg, BYTES));
	return NULL;
}

static _Atomic pid_t rows_thread;
static _Atomic bool rows_done;

static void *copy_rows(void *box)
{
	OK(cuCtxSetCurrent(context));
	rows_thread = gettid();
	OK(cuMemcpy2D_v2(box));
	rows_done = true;
	return NULL;
}

/*
 * Rows while another thread pins the block: they wait for it.  No staging ring, so that nothing
 * else registers.
 */
TEST_AFTER_WITH(rows_meanwhile, begin(), "HOTPIN_RING=0")
{
	char *block = filled(40), *got = malloc(2 * MIB);
	struct copy copy = { .to_device = true,
			     .box = { 4096, 512, 1, { .pitch = 4096 }, { .pitch = 4096 } },
			     .host = block + 9 * MIB,
			     .device = there };
	CUDA_MEMCPY2D box = copy_flat(&copy);

	standin_hold("cuMemHostRegister", STANDIN_AT_RETURN, 0);
	pthread_t whole = check_thread(copy_whole, block);
	WAIT_FOR(!preloaded() || standin_held() == 1);
	pthread_t rows = check_thread(copy_rows, &box);
	WAIT_FOR(!preloaded() || rows_done || (rows_thread != 0 && thread_is_blocked(rows_thread)));
	standin_release();
	pthread_join(rows, NULL);
	OK(cuMemcpyDtoH_v2(got, there, 2 * MIB));
	CHECK(memcmp(got, block + 9 * MIB, 2 * MIB) == 0);
	pthread_join(whole, NULL);
	CHECK(device_holds(there + 4 * MIB, BYTES, 40));
}

static void *pin_low(void *unused)
{
	OK(cuCtxSetCurrent(context));
	heat(low, COPY_ROOM - 64 * KIB);
	return unused;
}

static _Atomic pid_t across_thread;

static void *copy_across(void *to)
{
	OK(cuCtxSetCurrent(context));
	across_thread = gettid();
	OK(copy_in_a_batch(to, there + 32 * MIB, COPY_ROOM));
	return NULL;
}

/* A batch across two blocks waits while another thread pins one of them, for however long. */
TEST_AFTER_WITH(a_batch_behind_a_long_pin, begin(), "HOTPIN_RING=0")
{
	char *to;
	size_t wrong = 0;

	low = copy_host_make(COPY_BETWEEN, COPY_ROOM).at;
	to = low + COPY_ROOM / 2;
	OK(cuMemsetD8_v2(there + 32 * MIB, 7, COPY_ROOM));
	OK(cuCtxSynchronize()); /* the batch's stream does not wait for it */
	standin_hold("cuMemHostRegister", STANDIN_AT_RETURN, 0);
	pthread_t pins = check_thread(pin_low, NULL);
	WAIT_FOR(!preloaded() || standin_held() == 1);
	pthread_t across = check_thread(copy_across, to);
	WAIT_FOR(!preloaded() || (across_thread != 0 && thread_is_blocked(across_thread)));
	if (preloaded())
		test_clock_step(2 * TEST_S);
	standin_release();
	pthread_join(across, NULL);
	pthread_join(pins, NULL);
	OK(cuCtxSynchronize());
	for (size_t i = 0; i < COPY_ROOM; i++)
		wrong += to[i] != 7;
	CHECK_EQ(wrong, 0);
}

PRELOAD_MAIN()
