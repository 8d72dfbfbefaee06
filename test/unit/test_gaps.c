/*
 * test_gaps.c - more gaps between driver calls than the table has room for.
 */
#include "trace/calls/gaps.h"
#include "check.h"

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

/* More pairs than the table has room for: the smallest are dropped, but the sums stay complete. */
TEST(too_many)
{
	const uint32_t many = GAPS_MOST + 100;
	struct gaps_counts counts;
	struct gap gap;
	uint64_t total_ns = 0;
	size_t found = 0;
	bool has_most = false;

	CHECK(gaps_start(now_ns) == 0);
	call(0, SHORT);
	for (uint32_t i = 1; i <= many; i++)
		call(i, i == 7 ? 1000 * LONG : LONG + i);
	gaps_count(&counts);
	CHECK_EQ(counts.dropped.count, many - GAPS_MOST);
	for (; gaps_read(found, &gap); found++) {
		total_ns += gap.sum.total_ns;
		has_most |= gap.after.function == 7;
	}
	CHECK_EQ(found, GAPS_MOST);
	CHECK(has_most);
	CHECK_EQ(total_ns + counts.dropped.total_ns,
		 (uint64_t)(many - 1) * LONG + (uint64_t)many * (many + 1) / 2 - 7 + 1000 * LONG);
}

CHECK_MAIN()
