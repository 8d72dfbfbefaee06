/*
 * test_async.c - sequences of asynchronous copies of pinned blocks, by one thread and by several.
 * test_copies.c tests single copies.
 */
#include "thread.h"
#include "copies.h"

#include <pthread.h>

#define BYTES (8 * MIB)

/* The ring is made after it was wanted for some time. */
static void make_ring(char *block)
{
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyHtoDAsync_v2(there, block, 64 * KIB, copy_stream_of(COPY_NON_BLOCKING)));
	OK(cuCtxSynchronize());
}

/*
 * Small uploads come from the ring, each followed by an event; if it is full, from pageable memory.
 * No upload waits.
 */
static void in_a_row(size_t bytes, int from_the_ring)
{
	enum { COUNT = 60 };

	begin();
	char *block = promoted(BYTES);
	make_ring(block);
	standin_log_reset();
	for (int s = 0; s < COPY_STREAMS; s++)
		launch(copy_stream_of(s));
	for (unsigned i = 0; i < COUNT; i++) {
		fill(block, bytes, i);
		OK(cuMemcpyHtoDAsync_v2(there + i * bytes, block, bytes,
					copy_stream_of(i % COPY_STREAMS)));
	}
	memset(block, 0, bytes);
	CHECK_EQ(standin_calls("cuStreamSynchronize"), 0);
	CHECK_EQ(standin_calls("cuEventSynchronize"), 0);
	CHECK_EQ(standin_calls("cuEventRecord"), preloaded() ? from_the_ring : 0);
	for (unsigned i = 0; i < COUNT; i++)
		CHECK(device_holds(there + i * bytes, bytes, i));
}

CASE(h2d_in_a_row, in_a_row(64 * KIB, 60))
CASE(h2d_in_a_row_larger, in_a_row(300 * KIB, 8 * 1024 / (5 * 64)))

/* Uploads of an unpinned block count for the pin rule, also if hotpin stages them. */
static void are_pinned_soon(void)
{
	const size_t bytes = 16 * MIB;
	char *block = malloc(bytes);

	begin();
	for (unsigned i = 0; i < 4; i++) {
		fill(block, bytes, i);
		OK(cuMemcpyHtoDAsync_v2(there, block, bytes, copy_stream_of(COPY_NON_BLOCKING)));
		OK(cuCtxSynchronize());
		CHECK(device_holds(there, bytes, i));
		CHECK_EQ(standin_pinned(block) != 0, preloaded() && i != 0);
	}
}

CASE(h2d_of_16_mib, are_pinned_soon())
CASE_WITH(h2d_of_16_mib_staged, ("HOTPIN_ROUTE=stage"), are_pinned_soon())

static _Atomic bool has_uploaded;

static void upload_busily(char *block, CUstream stream)
{
	launch(stream);
	OK(cuMemcpyHtoDAsync_v2(there + 32 * MIB, block, 64 * KIB, stream));
	has_uploaded = true;
	CHECK(standin_pending(stream) != 0);
	OK(cuStreamSynchronize(stream));
}

static void *heat_meanwhile(void *arg)
{
	OK(cuCtxSetCurrent(context));
	heat(arg, BYTES);
	return NULL;
}

/* While the main thread's upload is held in the driver, makes enough copies to pin its block. */
static void *heat_inside(void *arg)
{
	OK(cuCtxSetCurrent(context));
	WAIT_FOR(standin_held() == 1 || has_uploaded);
	for (int i = 0; i < 20; i++)
		OK(cuMemcpyHtoD_v2(there, arg, BYTES));
	standin_release();
	return NULL;
}

/* Releases the pinning when the main thread waits for it, or has uploaded in the meantime. */
static void *release_pinning(void *arg)
{
	WAIT_FOR(has_uploaded || thread_is_blocked(getpid()));
	standin_release();
	return arg;
}

/*
 * Without the library no upload waits; here none does before, during or after the pin by another
 * thread.
 */
TEST_AFTER(h2d_behind_work_while_another_thread_pins, begin())
{
	CUstream stream;

	char *block = malloc(BYTES);
	memset(block, 1, BYTES);
	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));

	standin_hold("cuMemcpyHtoDAsync", STANDIN_AT_CALL, 0);
	pthread_t heating = check_thread(heat_inside, block);
	upload_busily(block, stream);
	pthread_join(heating, NULL);
	if (check_failures != 0)
		return;

	has_uploaded = false;
	standin_hold("cuMemHostRegister", STANDIN_AT_RETURN, 0);
	heating = check_thread(heat_meanwhile, block);
	if (preloaded())
		WAIT_FOR(standin_held() == 1);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
	pthread_t releasing = check_thread(release_pinning, NULL);
	upload_busily(block, stream);
	pthread_join(heating, NULL);
	pthread_join(releasing, NULL);

	upload_busily(block, stream);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

PRELOAD_MAIN()
