/*
 * test_sent.c - blocks that are registered piece by piece while they are sent: first copies, and
 * what later ones meet.
 *
 * The driver refuses a call that names two registrations (INVALID_VALUE), and an upload that is
 * only enqueued reads its source late: both would show here as codes and bytes.
 */
#include "../thread.h"
#include "promote.h"

#include <pthread.h>

#define BYTES         (32 * MIB) /* four pieces */
#define PIECE         (10 * MIB) /* the room is somewhat larger than BYTES */

/* No ring, so that nothing else registers or cuts. */
#define SENT(id, ...) TEST_WITH(id, "HOTPIN_RING=0", ##__VA_ARGS__)

static int registrations(void)
{
	return standin_calls("cuMemHostRegister");
}

static char *filled(unsigned seed)
{
	char *block = malloc(BYTES);

	fill(block, BYTES, seed);
	return block;
}

/* A block that its first copy has pinned in pieces. */
static char *sent(unsigned seed)
{
	char *block = filled(seed);

	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, block, BYTES));
	CHECK_EQ(registrations(), preloaded() ? 4 : 0);
	return block;
}

SENT(up_and_overwritten)
{
	begin();
	char *block = filled(1);

	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, block, BYTES));
	memset(block, 0, BYTES);
	CHECK_EQ(registrations(), preloaded() ? 4 : 0);
	CHECK_EQ(standin_registered_bytes() >= BYTES, preloaded());
	CHECK(device_holds(there, BYTES, 1));
}

SENT(up_asynchronously_and_overwritten)
{
	CUstream stream;

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	char *block = filled(2);

	standin_log_reset();
	OK(cuMemcpyHtoDAsync_v2(there, block, BYTES, stream));
	memset(block, 0, BYTES);
	CHECK_EQ(registrations(), preloaded() ? 4 : 0);
	CHECK(device_holds(there, BYTES, 2));
}

SENT(down_and_read)
{
	begin();
	static char quiet[BYTES];

	fill(quiet, BYTES, 3);
	OK(cuMemcpyHtoD_v2(there, quiet, BYTES));
	char *block = filled(0), *other = filled(0);
	standin_log_reset();
	OK(cuMemcpyDtoH_v2(block, there, BYTES));
	CHECK(holds(block, BYTES, 3));
	CHECK_EQ(registrations(), preloaded() ? 4 : 0);
	/* By now the process has rates of its own, so whether this one is pinned is open. */
	OK(cuMemcpyDtoHAsync_v2(other, there, BYTES, NULL));
	CHECK(holds(other, BYTES, 3));
}

SENT(in_the_threads_own_stream)
{
	begin();
	char *block = filled(4);

	OK(cuMemcpyHtoD_v2_ptds(there, block, BYTES));
	memset(block, 0, BYTES);
	OK(cuMemcpyDtoH_v2_ptds(block, there, BYTES));
	CHECK(holds(block, BYTES, 4));
	OK(cuMemcpyAsync_ptsz((CUdeviceptr)block, there, BYTES, NULL));
	CHECK(holds(block, BYTES, 4));
}

/* Any range of a block in pieces, by every function. */
SENT(later_copies_of_any_range)
{
	static const struct {
		size_t from, bytes;
	} ranges[] = {
		{ 0, BYTES },
		{ 8, BYTES - 8 },
		{ PIECE - 64 * KIB, 128 * KIB },
		{ PIECE - 64 * KIB, 16 },
		{ PIECE - 64 * KIB, PIECE },
		{ PIECE, 2 * PIECE },
		{ PIECE - 8, 2 * PIECE + 8 },
	};
	CUstream stream;

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	char *block = sent(5);

	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		char *from = block + ranges[i].from;
		size_t bytes = ranges[i].bytes;

		for (unsigned way = 0; way < 4; way++) {
			fill(from, bytes, 6 + way);
			OK(way == 0   ? cuMemcpyHtoD_v2(there, from, bytes)
			   : way == 1 ? cuMemcpyHtoDAsync_v2(there, from, bytes, stream)
			   : way == 2 ? cuMemcpy(there, (CUdeviceptr)from, bytes)
				      : cuMemcpyAsync(there, (CUdeviceptr)from, bytes, stream));
			memset(from, 0, bytes);
			OK(way == 0   ? cuMemcpyDtoH_v2(from, there, bytes)
			   : way == 1 ? cuMemcpyDtoHAsync_v2(from, there, bytes, stream)
			   : way == 2 ? cuMemcpy((CUdeviceptr)from, there, bytes)
				      : cuMemcpyAsync((CUdeviceptr)from, there, bytes, stream));
			if (!CHECK(holds(from, bytes, 6 + way)))
				printf("# range %zu, way %u\n", i, way);
		}
	}
	/* It stayed pinned all the while. */
	CHECK_EQ(standin_calls("cuMemHostUnregister"), 0);
	free(block);
}

/* A box whose rows pass a border: the block is pinned anew, whole. */
SENT(rows_across_a_border)
{
	begin();
	char *block = sent(7);
	CUDA_MEMCPY2D box = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = block + PIECE - MIB,
		.srcPitch = 4096,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = there,
		.dstPitch = 4096,
		.WidthInBytes = 4000,
		.Height = 1536, /* too many to be bounced */
	};

	for (int i = 0; i < 3; i++) {
		OK(cuMemcpyHtoD_v2(there + 16 * MIB, block, PIECE + MIB));
		OK(cuMemsetD8_v2(there, 0, 6 * MIB));
		OK(cuMemcpy2D_v2(&box));
		char *got = malloc(6 * MIB);
		bool right = true;
		OK(cuMemcpyDtoH_v2(got, there, 6 * MIB));
		for (size_t y = 0; y < 1536; y++)
			right = right &&
				memcmp(got + y * 4096, block + PIECE - MIB + y * 4096, 4000) == 0;
		CHECK(right);
		free(got);
	}
	/* `got`, too, may have been pinned and unpinned by now. */
	CHECK(standin_calls("cuMemHostUnregister") >= (preloaded() ? 4 : 0));
	/* It may be the housekeeper who does it. */
	CHECK_EQ(heat(block, PIECE + MIB), preloaded());
	CHECK_EQ(standin_registered_bytes() >= BYTES, preloaded());
}

SENT(a_batch_across_a_border)
{
	begin();
	char *block = sent(8);
	CUdeviceptr dsts[] = { there, there + PIECE };
	CUdeviceptr srcs[] = { (CUdeviceptr)block + PIECE / 2, (CUdeviceptr)block + 2 * PIECE };
	size_t sizes[] = { PIECE, PIECE }, first = 0, failed;
	CUmemcpyAttributes how = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemsetD8_v2(there, 0, 2 * PIECE));
	OK(cuCtxSynchronize());
	OK(cuMemcpyBatchAsync(dsts, srcs, sizes, 2, &how, &first, 1, &failed, stream));
	OK(cuStreamSynchronize(stream));
	char *got = malloc(2 * PIECE);
	OK(cuMemcpyDtoH_v2(got, there, 2 * PIECE));
	CHECK(memcmp(got, block + PIECE / 2, PIECE) == 0);
	CHECK(memcmp(got + PIECE, block + 2 * PIECE, PIECE) == 0);
}

/* The third piece is refused: what is under way arrives, the rest goes by the driver. */
SENT(refused_in_the_middle, "STANDIN_FAIL=cuMemHostRegister:3:1")
{
	begin();
	char *block = filled(9);

	standin_log_reset();
	OK(cuMemcpyHtoD_v2(there, block, BYTES));
	memset(block, 0, BYTES);
	CHECK(device_holds(there, BYTES, 9));
	CHECK_EQ(registrations(), preloaded() ? 3 : 0);
	CHECK_EQ(standin_calls("cuMemHostUnregister"), preloaded() ? 2 : 0);
	CHECK_EQ(standin_registered_bytes(), 0);
}

SENT(refused_in_the_middle_asynchronously, "STANDIN_FAIL=cuMemHostRegister:3:1")
{
	CUstream stream;

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	char *block = filled(10);

	OK(cuMemcpyHtoDAsync_v2(there, block, BYTES, stream));
	memset(block, 0, BYTES);
	OK(cuStreamSynchronize(stream));
	CHECK(device_holds(there, BYTES, 10));
	CHECK_EQ(standin_registered_bytes(), 0);
}

/*
 * The last piece is refused where the others are under way: who is told so may do with the source
 * what it likes.
 */
SENT(last_piece_refused, "STANDIN_FAIL=cuMemcpyHtoDAsync:4:1")
{
	CUstream stream;

	begin();
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	char *block = filled(11);

	CUresult result = cuMemcpyHtoDAsync_v2(there, block, BYTES, stream);
	CHECK_EQ(result, preloaded() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
	CHECK(!preloaded() || standin_pending(stream) == 0);
}

/* What the driver refuses as a whole moves no byte of it. */
SENT(too_much_for_its_target)
{
	CUdeviceptr small;

	begin();
	char *block = filled(11);

	OK(cuMemAlloc_v2(&small, BYTES - MIB));
	OK(cuMemsetD8_v2(small, 0x5a, BYTES - MIB));
	OK(cuCtxSynchronize());
	CHECK_EQ(cuMemcpyHtoD_v2(small, block, BYTES), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemcpyHtoD_v2(small, block, BYTES - MIB));
	OK(cuMemsetD8_v2(small, 0x5a, BYTES - MIB));
	OK(cuCtxSynchronize());
	/* Now that it is pinned, too. */
	CHECK_EQ(cuMemcpyHtoD_v2(small, block, BYTES), CUDA_ERROR_INVALID_VALUE);
	char *got = calloc(1, BYTES);
	OK(cuMemcpyDtoH_v2(got, small, BYTES - MIB));
	bool untouched = true;
	for (size_t i = 0; i < BYTES - MIB; i++)
		untouched = untouched && got[i] == 0x5a;
	CHECK(untouched);
	CHECK_EQ(cuMemcpyDtoH_v2(got, 0, BYTES), CUDA_ERROR_INVALID_VALUE);
}

/* Nor once the block lies in pieces, from which one part after the other could go. */
SENT(too_much_from_pieces)
{
	CUdeviceptr small;
	CUstream stream;

	begin();
	char *block = sent(12), *got = malloc(BYTES - MIB);

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuMemAlloc_v2(&small, BYTES - MIB));
	for (int turn = 0; turn < 4; turn++) {
		OK(cuMemsetD8_v2(small, 0x5a, BYTES - MIB));
		OK(cuCtxSynchronize());
		if (turn == 0)
			CHECK_EQ(cuMemcpyHtoD_v2(small, block, BYTES), CUDA_ERROR_INVALID_VALUE);
		else if (turn == 1)
			CHECK_EQ(cuMemcpyHtoDAsync_v2(small, block, BYTES, stream),
				 CUDA_ERROR_INVALID_VALUE);
		else if (turn == 2)
			CHECK_EQ(cuMemcpyDtoH_v2(block, small, BYTES), CUDA_ERROR_INVALID_VALUE);
		else
			CHECK_EQ(cuMemcpyAsync(small, (CUdeviceptr)block, BYTES, stream),
				 CUDA_ERROR_INVALID_VALUE);
		OK(cuCtxSynchronize());
		CHECK(holds(block, BYTES, 12));
		OK(cuMemcpyDtoH_v2(got, small, BYTES - MIB));
		CHECK(got[0] == 0x5a && memcmp(got, got + 1, BYTES - MIB - 1) == 0);
	}
}

/* Nor of an array, whose end only the driver knows. */
SENT(too_much_from_pieces_for_an_array)
{
	const CUDA_ARRAY_DESCRIPTOR form = { .Width = (BYTES - MIB) / 4,
					     .Format = CU_AD_FORMAT_FLOAT,
					     .NumChannels = 1 };
	CUarray small;
	CUstream stream;

	begin();
	char *block = sent(14), *was = calloc(1, BYTES - MIB), *got = malloc(BYTES - MIB);

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuArrayCreate_v2(&small, &form));
	for (int turn = 0; turn < 4; turn++) {
		OK(cuMemcpyHtoA_v2(small, 0, was, BYTES - MIB));
		if (turn == 0)
			CHECK_EQ(cuMemcpyHtoA_v2(small, 0, block, BYTES), CUDA_ERROR_INVALID_VALUE);
		else if (turn == 1)
			CHECK_EQ(cuMemcpyHtoAAsync_v2(small, 0, block, BYTES, stream),
				 CUDA_ERROR_INVALID_VALUE);
		else if (turn == 2)
			CHECK_EQ(cuMemcpyAtoH_v2(block, small, 0, BYTES), CUDA_ERROR_INVALID_VALUE);
		else
			CHECK_EQ(cuMemcpyAtoHAsync_v2(block, small, MIB, BYTES - MIB, stream),
				 CUDA_ERROR_INVALID_VALUE);
		OK(cuCtxSynchronize());
		CHECK(holds(block, BYTES, 14));
		OK(cuMemcpyAtoH_v2(got, small, 0, BYTES - MIB));
		CHECK(memcmp(got, was, BYTES - MIB) == 0);
	}
	/* What there is room for goes. */
	OK(cuMemcpyHtoA_v2(small, 0, block, BYTES - MIB));
	OK(cuMemcpyAtoH_v2(got, small, 0, BYTES - MIB));
	CHECK(memcmp(got, block, BYTES - MIB) == 0);
}

/* What the driver knows nothing of may be the host's: such a copy leaves the block pinned. */
SENT(to_the_host_from_pieces)
{
	static char target[BYTES];

	begin();
	char *block = sent(13);

	standin_log_reset();
	OK(cuMemcpy((CUdeviceptr)target, (CUdeviceptr)block, BYTES));
	CHECK(holds(target, BYTES, 13));
	CHECK_EQ(standin_calls("cuMemHostUnregister"), 0);
}

static char *shared;
static _Atomic int waiting;

/* Copies all of the block and most of it, into a device buffer of its own. */
static void *race(void *arg)
{
	unsigned me = (unsigned)(intptr_t)arg;
	CUdeviceptr mine;

	OK(cuCtxSetCurrent(context));
	OK(cuMemAlloc_v2(&mine, BYTES));
	waiting++;
	OK(me % 2 ? cuMemcpyHtoDAsync_v2(mine + MIB, shared + MIB, BYTES - MIB, NULL)
		  : cuMemcpyHtoD_v2(mine, shared, BYTES));
	char *got = calloc(1, BYTES);
	OK(cuMemcpyDtoH_v2(got, mine, BYTES));
	CHECK(memcmp(got + MIB, shared + MIB, BYTES - MIB) == 0);
	free(got);
	OK(cuMemFree_v2(mine));
	return NULL;
}

/* The others begin when the first thread has registered `pieces` pieces of the block. */
static void four_threads(int pieces)
{
	pthread_t threads[4];

	begin();
	shared = filled(20);
	standin_hold("cuMemHostRegister", STANDIN_AT_RETURN, pieces - 1);
	for (intptr_t i = 0; i < 4; i++) {
		pthread_create(&threads[i], NULL, race, (void *)i);
		WAIT_FOR(!preloaded() || standin_held() == 1);
	}
	WAIT_FOR(waiting == 4);
	standin_release();
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	free(shared);
}

SENT(four_threads_at_the_first_piece)
{
	four_threads(1);
}

SENT(four_threads_at_the_second_piece)
{
	four_threads(2);
}

SENT(four_threads_at_the_last_piece)
{
	four_threads(8);
}

/* Rows while another thread pins the block: they wait for that, and the pin ends. */
static void *copy_whole(void *arg)
{
	OK(cuCtxSetCurrent(context));
	OK(cuMemcpyHtoD_v2(there + 4 * MIB, arg, BYTES));
	return NULL;
}

static _Atomic pid_t rows_thread;

static void *copy_rows(void *box)
{
	OK(cuCtxSetCurrent(context));
	rows_thread = gettid();
	OK(cuMemcpy2D_v2(box));
	return NULL;
}

SENT(rows_meanwhile)
{
	pthread_t whole, rows;

	begin();
	char *block = filled(40), *got = malloc(2 * MIB);
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

	standin_hold("cuMemHostRegister", STANDIN_AT_RETURN, 1);
	pthread_create(&whole, NULL, copy_whole, block);
	WAIT_FOR(!preloaded() || standin_held() == 1);
	pthread_create(&rows, NULL, copy_rows, &box);
	WAIT_FOR(!preloaded() || (rows_thread != 0 && thread_is_blocked(rows_thread)));
	standin_release();
	pthread_join(rows, NULL);
	OK(cuMemcpyDtoH_v2(got, there, 2 * MIB));
	CHECK(memcmp(got, block + PIECE - MIB, 2 * MIB) == 0);
	pthread_join(whole, NULL);
	CHECK(device_holds(there + 4 * MIB, BYTES, 40));
}

/* A capture that forbids the copy: it moves no byte, pinned or not. */
SENT(forbidden_by_a_capture)
{
	CUstream stream;
	CUgraph graph;

	begin();
	char *block = sent(30);

	memset(block, 0, BYTES);
	OK(cuStreamCreate(&stream, CU_STREAM_DEFAULT));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	CHECK_EQ(cuMemcpyHtoD_v2(there, block, BYTES), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK_EQ(cuMemcpyHtoD_v2(there, filled(31), BYTES), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	CHECK_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	CHECK(device_holds(there, BYTES, 30));
}

/* One that does not: what moves the bytes must not end it. */
SENT(beside_a_capture)
{
	CUstream stream;
	CUgraph graph;

	begin();
	char *block = sent(30), *fresh = filled(32), got[64];

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	memset(block, 31, BYTES);
	for (int i = 0; i < 4; i++) {
		OK(cuMemcpyHtoD_v2(there, block, BYTES));
		OK(cuMemcpyHtoD_v2(there, fresh, BYTES));
		OK(cuMemcpyDtoH_v2(block, there, BYTES));
		OK(cuMemcpyHtoD_v2(there + 64, got, sizeof(got)));
		OK(cuMemcpyDtoH_v2(got, there, sizeof(got)));
	}
	CHECK(memcmp(got, fresh, sizeof(got)) == 0);
	OK(cuStreamEndCapture(stream, &graph));
	CHECK(memcmp(block, fresh, BYTES) == 0);
}

PRELOAD_MAIN()
