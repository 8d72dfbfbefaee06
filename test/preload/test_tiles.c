/*
 * test_tiles.c - many threads upload tiles of one block at the same time.
 *
 * The block is pinned.  Before each asynchronous upload, the stand-in has pending work: plain CUDA
 * returns immediately, and so must the library.  The stand-in delays every upload by some
 * milliseconds, so most threads are inside the driver at the same time.
 */
#include "promote.h"

#include <pthread.h>
#include <sys/resource.h>

#define BYTES        (64 * MIB)
#define THREADS_MOST 64
#define ROUNDS       12
#define SLOT         ((size_t)256 << 10) /* device memory of one thread */

enum way { ASYNC, SYNC };

static char *block;
static pthread_barrier_t together;
/* Failed calls, calls that waited for their stream, tiles that arrived wrong. */
static _Atomic int failed, waited, wrong;

static struct worker {
	unsigned number, threads;
	size_t tile;
	enum way way;
	pthread_t thread;
	CUstream stream;
} workers[THREADS_MOST];

static void make_block(void)
{
	/* Its module is loaded before threads launch it, and memory is limited. */
	launch(NULL);
	block = promoted(BYTES);
	standin_log_reset();
}

/* Returns the start of the thread's tile of this round. */
static size_t begin_of(const struct worker *my, unsigned round)
{
	return round * 5 * MIB + my->number * my->tile;
}

static void upload(const struct worker *my, size_t from, CUdeviceptr to)
{
	if (my->way == SYNC) {
		failed += cuMemcpyHtoD_v2(to, block + from, my->tile) != CUDA_SUCCESS;
		return;
	}
	launch(my->stream);
	failed += cuMemcpyHtoDAsync_v2(to, block + from, my->tile, my->stream) != CUDA_SUCCESS;
	/* The stand-in runs the kernel when a call waits for it. */
	waited += standin_pending(my->stream) == 0;
}

static void *upload_tiles(void *arg)
{
	const struct worker *my = arg;
	CUdeviceptr to = there + my->number * SLOT;

	OK(cuCtxSetCurrent(context));
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t from = begin_of(my, round);

		pthread_barrier_wait(&together);
		upload(my, from, to);
		OK(cuStreamSynchronize(my->way == SYNC ? NULL : my->stream));
		wrong += memcmp(standin_host(to), block + from, my->tile) != 0;
	}
	return NULL;
}

static void run(unsigned threads, size_t tile, enum way way)
{
	pthread_barrier_init(&together, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		struct worker *worker = &workers[i];

		*worker = (struct worker){ i, threads, tile, way, .thread = 0 };
		OK(cuStreamCreate(&worker->stream, CU_STREAM_NON_BLOCKING));
		pthread_create(&worker->thread, NULL, upload_tiles, worker);
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&together);
	CHECK_EQ(failed, 0);
	CHECK_EQ(waited, 0);
	CHECK_EQ(wrong, 0);
}

static void run_all(enum way way)
{
	static const size_t tiles[] = { 12000, 100000 };

	begin();
	make_block();
	for (size_t i = 0; i < sizeof(tiles) / sizeof(tiles[0]); i++) {
		run(16, tiles[i], way);
		run(64, tiles[i], way);
	}
	/* No call unpinned the block. */
	CHECK_EQ(standin_calls("cuMemHostUnregister"), 0);
}

/* `function`: the driver function that most threads are inside at the same time. */
#define TILES(id, way, function, ...) \
	CASE_WITH(id, ("STANDIN_LATE=" function ":5", ##__VA_ARGS__), run_all(way))
TILES(asynchronous, ASYNC, "cuMemcpyHtoDAsync")
TILES(without_places, ASYNC, "cuMemcpyHtoDAsync", "HOTPIN_RING=0")
TILES(synchronous, SYNC, "cuMemcpyHtoDAsync")

/* No memory can be mapped for bounce buffers. */
static void run_without_memory(size_t tile)
{
	struct rlimit limit = { .rlim_cur = MIB, .rlim_max = RLIM_INFINITY };
	struct worker one = { 0, 1, tile, ASYNC, .thread = 0 };

	begin();
	make_block();
	OK(cuStreamCreate(&one.stream, CU_STREAM_NON_BLOCKING));
	free(malloc(100000)); /* the stand-in has its share of these */
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		size_t from = begin_of(&one, round);

		upload(&one, from, there);
		OK(cuStreamSynchronize(one.stream));
		wrong += memcmp(standin_host(there), block + from, one.tile) != 0;
		one.way = round % 4 < 2 ? SYNC : ASYNC;
	}
	limit.rlim_cur = RLIM_INFINITY;
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	CHECK_EQ(failed, 0);
	CHECK_EQ(wrong, 0);
}

/* A small source is copied to the stack. */
TEST(without_memory)
{
	run_without_memory(12000);
	CHECK_EQ(waited, 0);
}

/* The driver reads a larger one from the block. */
TEST(without_memory_for_more)
{
	run_without_memory(20000);
	CHECK_EQ(waited != 0, preloaded());
}

PRELOAD_MAIN()
