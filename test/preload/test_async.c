/*
 * test_async.c - asynchronous copies of promoted blocks keep what pageable memory promises: the
 * source may be overwritten on return, the data is there on return, errors are the call's own.
 */
#include "../thread.h"
#include "promote.h"

#include <pthread.h>

#define BYTES (8 * MIB)

static const size_t sizes[] = { 1,      64,  4 * KIB, 16 * KIB,    16 * KIB + 1, 64 * KIB,
				100000, MIB, 4 * MIB, 4 * MIB + 3, BYTES };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static CUstream streams[5];

/* The streams there are: legacy, by its handle, per-thread, blocking, and one that is neither. */
static void make_streams(void)
{
	streams[1] = CU_STREAM_LEGACY;
	streams[2] = CU_STREAM_PER_THREAD;
	OK(cuStreamCreate(&streams[3], CU_STREAM_DEFAULT));
	OK(cuStreamCreate(&streams[4], CU_STREAM_NON_BLOCKING));
}

/* Something that has not run when the copy is enqueued. */
static void keep_busy(CUstream stream)
{
	static CUfunction noop;
	CUmodule module;

	if (noop == NULL) {
		OK(cuModuleLoadData(&module, "standin"));
		OK(cuModuleGetFunction(&noop, module, "standin_noop"));
	}
	OK(cuLaunchKernel(noop, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL));
}

static void d2h_is_there_on_return(bool own)
{
	begin();
	make_streams();
	char *source = malloc(BYTES), *block = promoted(BYTES);

	fill(source, BYTES, 2);
	OK(cuMemcpyHtoD_v2(there, source, BYTES));
	OK(cuCtxSynchronize());
	for (size_t s = 0; s < 5; s++) {
		for (size_t i = 0; i < SIZES; i++) {
			size_t at = (BYTES - sizes[i]) / 2;

			memset(block, 0, BYTES);
			keep_busy(streams[s]);
			OK((own ? cuMemcpyDtoHAsync_v2_ptsz
				: cuMemcpyDtoHAsync_v2)(block + at, there, sizes[i], streams[s]));
			CHECK(holds(block + at, sizes[i], 2));
			CHECK(at == 0 || (block[at - 1] == 0 && block[at + sizes[i]] == 0));
		}
	}
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

TEST(d2h)
{
	d2h_is_there_on_return(false);
}

TEST(d2h_of_the_threads_stream)
{
	d2h_is_there_on_return(true);
}

/* Then all streams are waited for. */
TEST_WITH(d2h_whose_wait_is_refused, "STANDIN_FAIL=cuStreamSynchronize:1")
{
	CUstream stream;

	begin();
	char *source = malloc(BYTES), *block = promoted(BYTES);

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	fill(source, BYTES, 2);
	OK(cuMemcpyHtoD_v2(there, source, BYTES));
	OK(cuCtxSynchronize());
	keep_busy(stream);
	OK(cuMemcpyDtoHAsync_v2(block, there, BYTES, stream));
	CHECK(holds(block, BYTES, 2));
}

static void h2d_source_is_free_on_return(bool own, bool busy)
{
	begin();
	make_streams();
	char *block = promoted(BYTES);

	for (size_t s = 0; s < 5; s++) {
		for (size_t i = 0; i < SIZES && check_failures == 0; i++) {
			size_t at = (BYTES - sizes[i]) / 2;

			fill(block + at, sizes[i], 3);
			if (busy)
				keep_busy(streams[s]);
			OK((own ? cuMemcpyHtoDAsync_v2_ptsz
				: cuMemcpyHtoDAsync_v2)(there, block + at, sizes[i], streams[s]));
			memset(block + at, 0, sizes[i]);
			if (!CHECK(device_holds(there, sizes[i], 3)))
				printf("# stream %zu, %zu bytes\n", s, sizes[i]);
		}
	}
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

TEST(h2d)
{
	h2d_source_is_free_on_return(false, false);
}

TEST(h2d_behind_work)
{
	h2d_source_is_free_on_return(false, true);
}

TEST(h2d_of_the_threads_stream)
{
	h2d_source_is_free_on_return(true, true);
}

/* They come once they have been wanted for some time. */
static void make_places(char *block)
{
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyHtoDAsync_v2(there, block, 64 * KIB, streams[4]));
	OK(cuCtxSynchronize());
}

/*
 * Small ones leave from pinned places of the library's, each with an event behind it; with none
 * free from pageable memory.  Nobody waits for any of them.
 */
static void in_a_row(size_t bytes, int from_places)
{
	enum { COUNT = 60 };

	begin();
	make_streams();
	char *block = promoted(BYTES);
	make_places(block);
	standin_log_reset();
	for (size_t s = 0; s < 5; s++)
		keep_busy(streams[s]);
	for (unsigned i = 0; i < COUNT; i++) {
		fill(block, bytes, i);
		OK(cuMemcpyHtoDAsync_v2(there + i * bytes, block, bytes, streams[i % 5]));
	}
	memset(block, 0, bytes);
	CHECK_EQ(standin_calls("cuStreamSynchronize"), 0);
	CHECK_EQ(standin_calls("cuEventSynchronize"), 0);
	CHECK_EQ(standin_calls("cuEventRecord"), preloaded() ? from_places : 0);
	for (unsigned i = 0; i < COUNT; i++)
		CHECK(device_holds(there + i * bytes, bytes, i));
}

TEST(h2d_in_a_row)
{
	in_a_row(64 * KIB, 32);
}

TEST(h2d_in_a_row_larger)
{
	in_a_row(300 * KIB, 6);
}

/* An event of ours could break the capture. */
TEST(h2d_beside_a_capture)
{
	CUgraph graph;

	begin();
	make_streams();
	char *block = promoted(BYTES);
	make_places(block);
	OK(cuStreamBeginCapture_v2(streams[3], CU_STREAM_CAPTURE_MODE_RELAXED));
	standin_log_reset();
	fill(block, 64 * KIB, 5);
	OK(cuMemcpyHtoDAsync_v2(there, block, 64 * KIB, streams[4]));
	memset(block, 0, 64 * KIB);
	CHECK_EQ(standin_calls("cuEventRecord") + standin_calls("cuEventQuery"), 0);
	OK(cuStreamEndCapture(streams[3], &graph));
	CHECK(device_holds(there, 64 * KIB, 5));
}

/* Rows with gaps, all of them, from the first to the last. */
TEST(rows_behind_work)
{
	enum { ROWS = 256, WIDTH = 4096, PITCH = 8192 };
	static char back[ROWS * WIDTH];
	CUDA_MEMCPY2D rows = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcPitch = PITCH,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstPitch = WIDTH,
			       .WidthInBytes = WIDTH,
			       .Height = ROWS };

	begin();
	make_streams();
	char *block = promoted(ROWS * PITCH);
	rows.srcHost = block;
	rows.dstDevice = there;
	for (int turn = 1; turn <= 3; turn++) {
		for (int row = 0; row < ROWS; row++)
			memset(block + (size_t)row * PITCH, (row + 31 * turn) & 0x7f, WIDTH);
		keep_busy(streams[4]);
		OK(cuMemcpy2DAsync_v2(&rows, streams[4]));
		memset(block, 0, ROWS * PITCH);
		OK(cuCtxSynchronize());
		OK(cuMemcpyDtoH_v2(back, there, sizeof(back)));
		int wrong = 0;
		for (int row = 0; row < ROWS; row++)
			wrong += back[row * WIDTH] != ((row + 31 * turn) & 0x7f) ||
				 back[row * WIDTH + WIDTH - 1] != ((row + 31 * turn) & 0x7f);
		CHECK_EQ(wrong, 0);
	}
}

/* The same through cuMemcpyAsync, whose sides are known by their addresses only. */
TEST(either_way)
{
	begin();
	make_streams();
	char *block = promoted(BYTES);

	for (size_t i = 0; i < SIZES; i++) {
		fill(block, sizes[i], 4);
		keep_busy(streams[4]);
		OK(cuMemcpyAsync(there, (CUdeviceptr)block, sizes[i], streams[4]));
		memset(block, 0, sizes[i]);
		CHECK(device_holds(there, sizes[i], 4));
		keep_busy(streams[4]);
		OK(cuMemcpyAsync((CUdeviceptr)block, there, sizes[i], streams[4]));
		CHECK(holds(block, sizes[i], 4));
		fill(block, sizes[i], 5);
		OK(cuMemcpy(there, (CUdeviceptr)block, sizes[i]));
		memset(block, 0, sizes[i]);
		OK(cuMemcpy((CUdeviceptr)block, there, sizes[i]));
		CHECK(holds(block, sizes[i], 5));
	}
}

/* A host buffer that a queued copy still fills is the source of the next one. */
TEST(a_chain_through_one_buffer)
{
	begin();
	make_streams();
	char *block = promoted(4 * MIB), *other = malloc(4 * MIB);

	fill(other, 4 * MIB, 6);
	OK(cuMemcpyHtoD_v2(there, other, 4 * MIB));
	for (size_t s = 0; s < 5; s++) {
		memset(block, 0, 4 * MIB);
		OK(cuMemsetD8_v2(there + 4 * MIB, 0, 4 * MIB));
		OK(cuCtxSynchronize());
		OK(cuMemcpyDtoHAsync_v2(block, there, 4 * MIB, streams[s]));
		OK(cuMemcpyHtoDAsync_v2(there + 4 * MIB, block, 4 * MIB, streams[s]));
		OK(cuStreamSynchronize(streams[s]));
		CHECK(device_holds(there + 4 * MIB, 4 * MIB, 6));
	}
}

/* Bad arguments are refused with the codes that pageable memory gets. */
TEST(errors_are_the_drivers)
{
	begin();
	make_streams();
	char *block = promoted(4 * MIB), *plain = malloc(1000);
	CUdeviceptr nowhere = 4096;

	CHECK_EQ(cuMemcpyHtoD_v2(nowhere, block, MIB), cuMemcpyHtoD_v2(nowhere, plain, 1000));
	CHECK_EQ(cuMemcpyDtoH_v2(block, nowhere, MIB), cuMemcpyDtoH_v2(plain, nowhere, 1000));
	CHECK_EQ(cuMemcpyHtoDAsync_v2(nowhere, block, MIB, 0),
		 cuMemcpyHtoDAsync_v2(nowhere, plain, 1000, 0));
	CHECK_EQ(cuMemcpyDtoHAsync_v2(block, nowhere, MIB, 0),
		 cuMemcpyDtoHAsync_v2(plain, nowhere, 1000, 0));
	CHECK_EQ(cuMemcpyHtoDAsync_v2(there, block, MIB, (CUstream)0x99),
		 cuMemcpyHtoDAsync_v2(there, plain, 1000, (CUstream)0x99));
	CHECK_EQ(cuMemcpyHtoD_v2(there + 64 * MIB - 100, block, MIB),
		 cuMemcpyHtoD_v2(there + 64 * MIB - 100, plain, 1000));
	CHECK_EQ(cuMemcpyHtoD_v2(there, block, 0), cuMemcpyHtoD_v2(there, plain, 0));
	CHECK_EQ(cuMemcpyHtoD_v2(there, NULL, MIB), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(cuMemcpyDtoHAsync_v2(NULL, there, MIB, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK(holds(block, 4 * MIB, 1));
}

struct thread {
	char *block;
	CUdeviceptr to;
	unsigned seed;
};

static void *upload_again_and_again(void *arg)
{
	const struct thread *my = arg;
	CUstream stream;

	OK(cuCtxSetCurrent(context));
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 300 && check_failures == 0; i++) {
		keep_busy(stream);
		OK(cuMemcpyHtoDAsync_v2(my->to, my->block, 256 * KIB, stream));
		OK(cuStreamSynchronize(stream));
		CHECK(holds(standin_host(my->to), 256 * KIB, my->seed));
	}
	return NULL;
}

/* What stands elsewhere during the driver's call stands where no other thread's does. */
TEST(h2d_of_many_threads_behind_work)
{
	struct thread threads[4];
	pthread_t ids[4];

	begin();
	for (unsigned i = 0; i < 4; i++) {
		threads[i] = (struct thread){ promoted(MIB), there + i * MIB, i };
		fill(threads[i].block, MIB, i);
	}
	keep_busy(NULL);
	OK(cuCtxSynchronize());
	for (unsigned i = 0; i < 4; i++)
		pthread_create(&ids[i], NULL, upload_again_and_again, &threads[i]);
	for (unsigned i = 0; i < 4; i++)
		pthread_join(ids[i], NULL);
}

static _Atomic bool has_uploaded;

static void upload_busily(char *block, CUstream stream)
{
	keep_busy(stream);
	OK(cuMemcpyHtoDAsync_v2(there + 32 * MIB, block, 64 * KIB, stream));
	has_uploaded = true;
	CHECK(standin_pending(stream) != 0);
	OK(cuStreamSynchronize(stream));
}

static void *heat_beside(void *arg)
{
	OK(cuCtxSetCurrent(context));
	heat(arg, BYTES);
	return NULL;
}

/* While the main thread's upload is held in the driver, copies enough that its block is pinned. */
static void *heat_inside(void *arg)
{
	OK(cuCtxSetCurrent(context));
	WAIT_FOR(standin_held() == 1 || has_uploaded);
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyHtoD_v2(there, arg, BYTES));
	standin_release();
	return NULL;
}

/* The pinning goes on when the main thread waits for its end, or has uploaded beside it. */
static void *release_pinning(void *arg)
{
	WAIT_FOR(has_uploaded || thread_is_blocked(getpid()));
	standin_release();
	return arg;
}

/* Natively none waits; here none does before, while or after another thread pins their block. */
TEST(h2d_behind_work_while_another_thread_pins)
{
	CUstream stream;
	pthread_t heating, releasing;

	begin();
	char *block = malloc(BYTES);
	memset(block, 1, BYTES);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

	standin_hold("cuMemcpyHtoDAsync", STANDIN_AT_CALL, 0);
	pthread_create(&heating, NULL, heat_inside, block);
	upload_busily(block, stream);
	pthread_join(heating, NULL);
	if (check_failures != 0)
		return;

	has_uploaded = false;
	standin_hold("cuMemHostRegister", STANDIN_AT_RETURN, 0);
	pthread_create(&heating, NULL, heat_beside, block);
	if (preloaded())
		WAIT_FOR(standin_held() == 1);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
	pthread_create(&releasing, NULL, release_pinning, NULL);
	upload_busily(block, stream);
	pthread_join(heating, NULL);
	pthread_join(releasing, NULL);

	upload_busily(block, stream);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

PRELOAD_MAIN()
