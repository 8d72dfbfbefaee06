/*
 * test_strip.c - a run over time, in a bounded number of bins.
 */
#include "trace/collect/strip.h"
#include "check.h"

#define MS 1000000u

static struct strip strip;

static uint64_t total(unsigned state)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < strip.bins; i++)
		sum += strip.bin[i].state_ns[state];
	return sum;
}

TEST(bins)
{
	strip_init(&strip, 5 * MS);
	CHECK_EQ(strip.bins, 0);
	strip_add_time(&strip, 0, 5 * MS, 5 * MS + 10);
	strip_add_time(&strip, 1, 6 * MS - 1, 8 * MS + 1);
	CHECK_EQ(strip.bins, 4);
	CHECK_EQ(strip.width, MS);
	CHECK_EQ(strip.bin[0].state_ns[0], 10);
	CHECK_EQ(strip.bin[0].state_ns[1], 1);
	CHECK_EQ(strip.bin[1].state_ns[1], MS);
	CHECK_EQ(strip.bin[2].state_ns[1], MS);
	CHECK_EQ(strip.bin[3].state_ns[1], 1);
	strip_add_count(&strip, STRIP_UP_BYTES, 7 * MS, 100);
	strip_add_count(&strip, STRIP_UP_BYTES, 8 * MS - 1, 1);
	CHECK_EQ(strip.bin[2].count[STRIP_UP_BYTES], 101);
}

TEST(what_is_no_time_of_the_run)
{
	strip_init(&strip, 5 * MS);
	strip_add_time(&strip, 0, 1, 2 * MS);
	strip_add_time(&strip, 0, 7 * MS, 7 * MS);
	strip_add_time(&strip, 0, 7 * MS, 6 * MS);
	strip_add_count(&strip, STRIP_CALLS, 4 * MS, 1);
	CHECK_EQ(strip.bins, 0);
	strip_add_time(&strip, 0, 4 * MS, 5 * MS + 3);
	CHECK_EQ(strip.bin[0].state_ns[0], 3);
}

/* A day in 512 bins: nothing is lost when the width doubles. */
TEST(doubles)
{
	strip_init(&strip, 0);
	for (uint64_t second = 0; second < 86400; second++) {
		strip_add_time(&strip, second % STRIP_STATES, second * 1000 * MS,
			       second * 1000 * MS + MS);
		strip_add_count(&strip, STRIP_CALLS, second * 1000 * MS, 2);
	}
	CHECK_EQ(strip.width, (uint64_t)MS << 18);
	CHECK(strip.bins > STRIP_BINS / 2 && strip.bins <= STRIP_BINS);
	uint64_t calls = 0;
	for (size_t i = 0; i < strip.bins; i++)
		calls += strip.bin[i].count[STRIP_CALLS];
	CHECK_EQ(calls, 2 * 86400);
	for (unsigned state = 0; state < STRIP_STATES; state++)
		CHECK_EQ(total(state), 86400 / STRIP_STATES * (uint64_t)MS);
}

/* One span over more than all bins. */
TEST(a_long_span)
{
	strip_init(&strip, 0);
	strip_add_time(&strip, 3, 0, (uint64_t)100000 * MS + 7);
	CHECK_EQ(total(3), (uint64_t)100000 * MS + 7);
	CHECK(strip.bins <= STRIP_BINS);
	for (size_t i = 0; i + 1 < strip.bins; i++)
		CHECK_EQ(strip.bin[i].state_ns[3], strip.width);
}

CHECK_MAIN()
