/*
 * test_statistics.c - median and range of a few times.
 */
#include "check.h"
#include "analyze/statistics.h"

TEST(of_times)
{
	static const struct {
		int64_t times[6];
		size_t count;
		struct statistics spread;
	} rows[] = {
		{ { 0 }, 0, { 0, 0, 0 } },
		{ { 7 }, 1, { 7, 7, 7 } },
		{ { 0, 0 }, 2, { 0, 0, 0 } },
		{ { 30, 10 }, 2, { 10, 20, 30 } },
		{ { 5, 4 }, 2, { 4, 4, 5 } },
		{ { 1020, 1000, 990 }, 3, { 990, 1000, 1020 } },
		{ { 4, 3, 2, 1 }, 4, { 1, 2, 4 } },
		{ { 9, 1, 9, 1, 9 }, 5, { 1, 9, 9 } },
		{ { 1, 1, 1, 1, 1, 1000000 }, 6, { 1, 1, 1000000 } },
		{ { INT64_MAX, 0, INT64_MAX }, 3, { 0, INT64_MAX, INT64_MAX } },
		{ { INT64_MAX, INT64_MAX - 2 }, 2, { INT64_MAX - 2, INT64_MAX - 1, INT64_MAX } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t times[6];

		memcpy(times, rows[i].times, sizeof(times));
		struct statistics spread = statistics_of(times, rows[i].count);
		CHECK_EQ(spread.least, rows[i].spread.least);
		CHECK_EQ(spread.median, rows[i].spread.median);
		CHECK_EQ(spread.most, rows[i].spread.most);
	}
}

CHECK_MAIN()
