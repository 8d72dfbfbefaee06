/*
 * test_sent.c - blocks that are registered segment by segment while they are uploaded: several
 * threads, captures, and refused segments.  test_copies.c tests single copies.
 *
 * The driver refuses a call that spans two registrations (INVALID_VALUE), and an enqueued upload
 * reads its source late.  Mistakes would show as error codes and wrong bytes.
 */
#include "thread.h"
#include "copies.h"

#include <pthread.h>

#define BYTES         COPY_PIECES_BYTES
#define PIECE         COPY_PIECE

/* No staging ring, so that nothing else registers or splits. */
#define SENT(id, ...) TEST_WITH(id, "HOTPIN_RING=0", ##__VA_ARGS__)

/* Returns a block whose next copy pins it. */
static char *filled(unsigned seed)
{
	char *block = malloc(BYTES);

	fill(block, BYTES, seed);
	OK(cuMemcpyHtoD_v2(there, block, BYTES));
	return block;
}

/*
 * The last segment is refused while others are in flight: after the error, the program may change
 * the source.
 */
SENT(last_piece_refused, "STANDIN_FAIL=cuMemcpyHtoDAsync:4:1")
{
	begin();
	CUstream stream = copy_stream_of(COPY_NON_BLOCKING);
	char *block = filled(11);

	CUresult result = cuMemcpyHtoDAsync_v2(there, block, BYTES, stream);
	CHECK_EQ(result, preloaded() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
	CHECK(!preloaded() || standin_pending(stream) == 0);
}

/* Memory unknown to the driver may be host memory: such a copy leaves the block pinned. */
SENT(to_the_host_from_pieces)
{
	static char target[BYTES];

	begin();
	char *block = copy_block_in_pieces(13);

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

/* The other threads start when the first one has registered so many segments. */
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
	four_threads(COPY_PIECES_COUNT);
}

/*
 * Rows while another thread pins the block: they wait for it, or use our memory if that was
 * measured to be faster, and the pin ends.
 */
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

SENT(rows_meanwhile)
{
	pthread_t whole, rows;

	begin();
	char *block = filled(40), *got = malloc(2 * MIB);
	struct copy copy = { .to_device = true,
			     .box = { 4096, 512, 1, { .pitch = 4096 }, { .pitch = 4096 } },
			     .host = block + PIECE - MIB,
			     .device = there };
	CUDA_MEMCPY2D box = copy_flat(&copy);

	standin_hold("cuMemHostRegister", STANDIN_AT_RETURN, 1);
	pthread_create(&whole, NULL, copy_whole, block);
	WAIT_FOR(!preloaded() || standin_held() == 1);
	pthread_create(&rows, NULL, copy_rows, &box);
	WAIT_FOR(!preloaded() || rows_done || (rows_thread != 0 && thread_is_blocked(rows_thread)));
	standin_release();
	pthread_join(rows, NULL);
	OK(cuMemcpyDtoH_v2(got, there, 2 * MIB));
	CHECK(memcmp(got, block + PIECE - MIB, 2 * MIB) == 0);
	pthread_join(whole, NULL);
	CHECK(device_holds(there + 4 * MIB, BYTES, 40));
}

/* A capture that forbids nothing: our copies must not invalidate it. */
SENT(during_a_capture)
{
	CUstream stream;
	CUgraph graph;

	begin();
	char *block = copy_block_in_pieces(30), *fresh = filled(32), got[64];

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
