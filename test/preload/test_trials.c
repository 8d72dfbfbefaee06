/*
 * test_trials.c - what is learned from the stand-in's modeled time: whether pinning gains anything.
 */
#include "clock.h"
#include "promote.h"

/* Uploads of the block, each of them behind `queued` bytes that the program sends itself. */
static void upload_behind(const char *block, size_t bytes, const char *own, size_t queued,
			  int count)
{
	for (int i = 0; i < count; i++) {
		for (size_t left = queued; left > 0; left -= left < 64 * MIB ? left : 64 * MIB)
			OK(cuMemcpyHtoDAsync_v2(there, own, left < 64 * MIB ? left : 64 * MIB,
						NULL));
		OK(cuMemcpyHtoD_v2(there, block, bytes));
	}
}

/*
 * Uploads from a pinned block wait for other work for a while, so pinning seems to gain nothing.
 * Then other blocks are uploaded, on a device that is idle: they are pinned in the end.
 */
TEST_WITH(pins_after_a_busy_time, "HOTPIN_ASYNC=0", "HOTPIN_RING=0", "HOTPIN_LEARN=1")
{
	const size_t bytes = 16 * MIB;
	char *others[4];
	void *own;
	int pinned = 0;

	begin();
	OK(cuMemAllocHost_v2(&own, 64 * MIB));
	char *block = promoted(bytes);
	upload_behind(block, bytes, own, 44 * MIB, 60);
	upload_behind(block, bytes, own, 128 * MIB, 60);
	for (int i = 0; i < 4; i++) {
		others[i] = malloc(bytes);
		fill(others[i], bytes, i + 2);
	}
	upload_behind(others[0], bytes, own, 0, 8);
	CHECK(!standin_pinned(others[0]));
	for (int i = 0; i < 1000 && pinned < 4 && preloaded(); i++) {
		OK(cuMemcpyHtoD_v2(there, others[i % 4], bytes));
		CHECK(i % 50 != 0 || device_holds(there, bytes, i % 4 + 2));
		pinned = 0;
		for (int j = 0; j < 4; j++)
			pinned += standin_pinned(others[j]) != 0;
	}
	CHECK_EQ(pinned, preloaded() ? 4 : 0);
	for (int i = 0; i < 4; i++)
		free(others[i]);
	free(block);
}

PRELOAD_MAIN()
