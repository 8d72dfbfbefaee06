/*
 * test_gaps.c - host code between driver calls, by the places of both calls.
 */
#include "trace/calls/gaps.h"
#include "check.h"

#include <pthread.h>
#include <stdbool.h>

#define LONG  GAPS_LEAST_NS
#define SHORT (GAPS_LEAST_NS - 1)

static uint64_t now_ns = 1000000;

/* Calls a driver function `gap_ns` after the previous one; the call takes 5 us. */
__attribute__((noinline)) static void call(uint32_t function, uint64_t gap_ns)
{
	now_ns += gap_ns + 5000;
	gaps_called(function, now_ns - 5000, now_ns, __builtin_frame_address(0), NULL);
}

static struct gap gap_at(size_t index)
{
	struct gap gap = { 0 };

	gaps_read(index, &gap);
	return gap;
}

static size_t gaps_found(void)
{
	struct gap gap;
	size_t count = 0;

	while (gaps_read(count, &gap))
		count++;
	return count;
}

/* Long after the free samples of places: only the first long gap lacks its first place. */
TEST(rare_gaps)
{
	CHECK(gaps_start(now_ns) == 0);
	for (int i = 0; i < 1000; i++)
		call(1, i % 100 == 99 ? LONG : SHORT);
	CHECK_EQ(gaps_found(), 2);
	CHECK_EQ(gap_at(0).before.place.depth + gap_at(1).before.place.depth, 1);
	CHECK_EQ(gap_at(0).after.place.depth + gap_at(1).after.place.depth, 2);
	CHECK_EQ(gap_at(0).sum.count, 1);
	CHECK_EQ(gap_at(1).sum.count, 9);
}

/* Has a frame of its own, so that its calls have a mark of their own. */
__attribute__((noinline)) static void call_often(unsigned count)
{
	while (count-- > 0)
		call(1, SHORT);
}

/* A loop is looked at after a long gap, the longer the gap, the more often, and then no more. */
TEST(gaps_pay_for_looks)
{
	CHECK(gaps_start(now_ns) == 0);
	call_often(1000);
	call(2, LONG);
	call_often(1000);
	call(3, LONG);
	/* Nothing had paid for a look before 2, and what that gap paid is used up before 3. */
	CHECK_EQ(gaps_found(), 2);
	CHECK_EQ(gap_at(0).before.place.depth, 0);
	CHECK_EQ(gap_at(1).before.place.depth, 0);
	call_often(1);
	call(4, 100 * LONG);
	CHECK_EQ(gap_at(2).before.place.depth, 1);
	call_often(1000);
	call(5, LONG);
	CHECK_EQ(gap_at(3).before.place.depth, 1);
}

/* More pairs than the table has room for: the smallest are dropped, but the sums stay complete. */
TEST(too_many)
{
	const uint32_t many = GAPS_MOST + 100;
	struct gaps_counts counts;
	uint64_t total_ns = 0;
	bool has_most = false;

	CHECK(gaps_start(now_ns) == 0);
	call(0, SHORT);
	for (uint32_t i = 1; i <= many; i++)
		call(i, i == 7 ? 1000 * LONG : LONG + i);
	gaps_count(&counts);
	CHECK_EQ(gaps_found(), GAPS_MOST);
	CHECK_EQ(counts.dropped.count, many - GAPS_MOST);
	for (size_t i = 0; i < GAPS_MOST; i++) {
		total_ns += gap_at(i).sum.total_ns;
		has_most |= gap_at(i).after.function == 7;
	}
	CHECK(has_most);
	CHECK_EQ(total_ns + counts.dropped.total_ns,
		 (uint64_t)(many - 1) * LONG + (uint64_t)many * (many + 1) / 2 - 7 + 1000 * LONG);
}

CHECK_MAIN()
