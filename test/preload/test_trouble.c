/*
 * test_trouble.c - copies that meet trouble half way, or a kernel that waits for the host.
 *
 * What is asserted without asking preloaded() holds natively, too.
 */
#include "../thread.h"
#include "promote.h"

#include <dirent.h>
#include <pthread.h>

#define BYTES         (32 * MIB) /* four pieces */
#define PIECE         (10 * MIB)

#define SENT(id, ...) TEST_WITH(id, "HOTPIN_RING=0", ##__VA_ARGS__)
#define STAGED(id, ...) \
	TEST_WITH(id, "HOTPIN_ROUTE=stage", "HOTPIN_THREADS=3", "HOTPIN_HEAP_MIN=0", ##__VA_ARGS__)

/* A block that its first copy has pinned in pieces. */
static char *sent(unsigned seed)
{
	char *block = malloc(BYTES);

	fill(block, BYTES, seed);
	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, block, BYTES));
	CHECK_EQ(standin_calls("cuMemHostRegister"), preloaded() ? 4 : 0);
	return block;
}

static CUdeviceptr flag;

/* A stream whose work goes on when the host says so. */
static CUstream held(void)
{
	CUstream stream;

	OK(cuMemAlloc_v2(&flag, 64));
	OK(cuMemsetD8_v2(flag, 0, 64));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuCtxSynchronize());
	OK(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	return stream;
}

static void let_go(void)
{
	*(volatile uint32_t *)standin_host(flag) = 1;
}

/* Of pageable memory so small an upload is taken in at once, whatever it waits for. */
SENT(upload_across_a_border_behind_a_kernel)
{
	begin();
	char *block = sent(1);
	CUstream stream = held();

	fill(block + PIECE - 16 * KIB, 32 * KIB, 2);
	OK(cuMemcpyHtoDAsync_v2(there, block + PIECE - 16 * KIB, 32 * KIB, stream));
	memset(block + PIECE - 16 * KIB, 0, 32 * KIB);
	let_go();
	CHECK(device_holds(there, 32 * KIB, 2));
}

SENT(rows_of_a_block_behind_a_kernel)
{
	begin();
	char *block = promoted(4 * MIB);
	CUstream stream = held();
	CUDA_MEMCPY2D box = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block,
		.srcPitch = 4096,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 4096,
		.WidthInBytes = 4096,
		.Height = 8,
	};

	fill(block, 32 * KIB, 3);
	OK(cuMemcpy2DAsync_v2(&box, stream));
	memset(block, 0, 32 * KIB);
	let_go();
	CHECK(device_holds(there, 32 * KIB, 3));
}

/* Rows across a border while a kernel runs elsewhere that waits for them. */
SENT(rows_across_a_border_beside_a_kernel)
{
	begin();
	char *block = sent(1);
	CUstream stream;
	CUDA_MEMCPY2D box = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block + PIECE - MIB,
		.srcPitch = 4096,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 4096,
		.WidthInBytes = 4096,
		.Height = 512,
	};

	held();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	fill(block + PIECE - MIB, 2 * MIB, 2);
	OK(cuMemcpy2DAsync_v2(&box, stream));
	OK(cuStreamSynchronize(stream));
	CHECK(memcmp(standin_host(there), block + PIECE - MIB, 2 * MIB) == 0);
	let_go();
	OK(cuCtxSynchronize());
}

/* What an error leaves behind does not write to the program's memory any more. */
SENT(down_and_refused_at_the_end, "STANDIN_FAIL=cuMemcpyDtoH:1")
{
	begin();
	char *block = sent(4);

	memset(block, 0x5a, BYTES);
	CHECK(cuMemcpyDtoH_v2(block, there, BYTES) != CUDA_SUCCESS);
	CHECK_EQ(standin_pending(NULL), 0);
}

SENT(down_asynchronously_and_refused, "STANDIN_FAIL=cuMemcpyDtoHAsync:4")
{
	CUstream stream;

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	char *block = sent(4);

	CHECK_EQ(cuMemcpyDtoHAsync_v2(block, there, BYTES, stream) == CUDA_SUCCESS, !preloaded());
	CHECK_EQ(standin_pending(stream), 0);
}

SENT(up_asynchronously_and_refused, "STANDIN_FAIL=cuMemcpyHtoDAsync:7")
{
	CUstream stream;

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	char *block = sent(4);

	CHECK_EQ(cuMemcpyHtoDAsync_v2(there, block, BYTES, stream) == CUDA_SUCCESS, !preloaded());
	CHECK(!preloaded() || standin_pending(stream) == 0);
}

/* From one block to another, both in pieces, whose borders do not meet. */
SENT(between_two_blocks)
{
	begin();
	char *from = sent(5), *to = sent(6);

	OK(cuMemcpy((CUdeviceptr)to + MIB, (CUdeviceptr)from, 20 * MIB));
	CHECK(memcmp(to + MIB, from, 20 * MIB) == 0);
	OK(cuMemcpyAsync((CUdeviceptr)from + 3 * MIB, (CUdeviceptr)to, 20 * MIB, NULL));
	CHECK(memcmp(from + 3 * MIB, to, 20 * MIB) == 0);
}

SENT(rows_between_two_blocks)
{
	begin();
	char *from = promoted(4 * MIB), *to = sent(6);
	CUDA_MEMCPY2D box = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = 4096,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = to + PIECE - MIB,
		.dstPitch = 4096,
		.WidthInBytes = 4096,
		.Height = 512,
	};

	OK(cuMemcpy2D_v2(&box));
	CHECK(memcmp(to + PIECE - MIB, from, 2 * MIB) == 0);
}

/* More buffers than a handful: they are known, and not asked about for each copy. */
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

static char array[8 * MIB] = { 1 }, other[8 * MIB] = { 1 };
/* As threadprivate arrays are: a thread's stack has to hold it. */
__thread char private[MIB];

/* The threads of a process that has such memory. */
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
	CHECK_EQ(count > 2 + 1 + 3, preloaded()); /* "." and "..", the program's, the crew */
}

static CUdeviceptr memory;
/*
 * Rows across a border while a kernel runs elsewhere that waits for this thread: unpinning the
 * block would wait for it.
 */
TEST(large_rows_across_a_border_beside_a_kernel)
{
	CUstream beside;

	begin();
	char *block = sent(1);
	CUDA_MEMCPY2D up = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block + PIECE - MIB,
		.srcPitch = 8192,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 1024,
		.WidthInBytes = 1024,
		.Height = 700, /* their gaps make them too many to be bounced */
	};
	CUDA_MEMCPY2D down = {
		.srcMemoryType = CU_MEMORYTYPE_DEVICE,
		.srcDevice = there,
		.srcPitch = 1024,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = block + 2 * PIECE - MIB - 100,
		.dstPitch = 6000,
		.WidthInBytes = 1024,
		.Height = 700,
	};

	held();
	standin_log_reset();
	OK(cuStreamCreate(&beside, CU_STREAM_NON_BLOCKING));
	OK(cuMemcpy2DAsync_v2(&up, beside));
	memset(block + PIECE - MIB, 0, 700 * 8192);
	OK(cuStreamSynchronize(beside));
	OK(cuMemcpy2DAsync_v2(&down, beside));
	OK(cuMemcpy2D_v2_ptds(&down));
	CHECK_EQ(standin_calls("cuMemHostUnregister"), 0);
	let_go();
	OK(cuCtxSynchronize());

	/* What the device has been given is what the second pattern would be at those places. */
	char *expected = malloc(BYTES);
	fill(expected, BYTES, 1);
	bool right = true;
	for (size_t y = 0; y < 700; y++)
		right = right && memcmp((char *)down.dstHost + y * 6000,
					expected + PIECE - MIB + y * 8192, 1024) == 0;
	CHECK(right);
	/* Between the rows nothing has been written. */
	CHECK(memcmp((char *)down.dstHost + 1024, expected + 2 * PIECE - MIB - 100 + 1024,
		     6000 - 1024) == 0);
}

/* On a stream that waits itself they are taken in, as from pageable memory: they are short. */
TEST(large_rows_across_a_border_behind_a_kernel)
{
	begin();
	char *block = sent(1);
	CUDA_MEMCPY2D up = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block + PIECE - MIB,
		.srcPitch = 8192,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 80,
		.WidthInBytes = 80,
		.Height = 700,
	};
	CUstream stream = held();

	OK(cuMemcpy2DAsync_v2(&up, stream));
	memset(block + PIECE - MIB, 0, 700 * 8192);
	let_go();
	OK(cuStreamSynchronize(stream));
	char *expected = malloc(BYTES);
	fill(expected, BYTES, 1);
	bool right = true;
	for (size_t y = 0; y < 700; y++)
		right = right && memcmp(standin_host(there + y * 80),
					expected + PIECE - MIB + y * 8192, 80) == 0;
	CHECK(right);
}

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
	let_go();
	return NULL;
}

/* The context that the ring was registered in goes while another's copy waits for a kernel. */
STAGED(context_that_owns_the_ring)
{
	pthread_t copying, releasing;

	begin();
	fill(array, 8 * MIB, 1);
	OK(cuMemcpyHtoD_v2(there, array, 8 * MIB));
	OK(cuCtxCreate_v2(&second, 0, 0));
	OK(cuMemAlloc_v2(&memory, 8 * MIB));
	OK(cuMemcpyHtoD_v2(memory, array, 8 * MIB));
	CUstream stream = held();
	pthread_create(&copying, NULL, fetch_slowly, stream);
	WAIT_FOR(standin_pending(stream) >= 2);
	pthread_create(&releasing, NULL, release, NULL);
	OK(cuCtxDestroy_v2(context));
	pthread_join(copying, NULL);
	pthread_join(releasing, NULL);
	CHECK(holds(other, 8 * MIB, 1));
}

PRELOAD_MAIN()
