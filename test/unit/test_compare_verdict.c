/*
 * test_compare_verdict.c - the median of times, and the verdict (faster, slower, same, unclear) of
 * two.
 */
#include "check.h"
#include "compare/compare_verdict.h"

TEST(verdicts)
{
	static const struct {
		int64_t before, after;
		unsigned noise;
		bool known;
		enum compare_verdict verdict;
	} rows[] = {
		/* The noise is known. If it exceeds 5%, times within the noise are unclear. */
		{ 1000, 1000, 20, true, COMPARE_SAME },
		{ 1000, 1020, 20, true, COMPARE_SAME },
		{ 1000, 1021, 20, true, COMPARE_SLOWER },
		{ 1000, 980, 20, true, COMPARE_SAME },
		{ 1000, 979, 20, true, COMPARE_FASTER },
		{ 1000, 1050, 50, true, COMPARE_SAME },
		{ 1000, 1050, 51, true, COMPARE_UNCLEAR },
		{ 1000, 1052, 51, true, COMPARE_SLOWER },
		{ 1000, 948, 51, true, COMPARE_FASTER },
		{ 1000, 1001, 0, true, COMPARE_SLOWER },
		{ 1000, 1000, 0, true, COMPARE_SAME },
		/* One run each: one program was seen to take 2.1 times as long as before. */
		{ 1000, 1000, 20, false, COMPARE_UNCLEAR },
		{ 1000, 1021, 20, false, COMPARE_UNCLEAR },
		{ 1000, 2100, 20, false, COMPARE_UNCLEAR },
		{ 2100, 1000, 20, false, COMPARE_UNCLEAR },
		{ 1000, 3000, 20, false, COMPARE_UNCLEAR },
		{ 1000, 3001, 20, false, COMPARE_SLOWER },
		{ 3000, 1000, 20, false, COMPARE_UNCLEAR },
		{ 3001, 1000, 20, false, COMPARE_FASTER },
		/* One of them has repeats, which differ by more than these two. */
		{ 1000, 3001, 3000, false, COMPARE_UNCLEAR },
		/* Extremes. */
		{ 0, 0, 20, true, COMPARE_SAME },
		{ 0, 0, 20, false, COMPARE_UNCLEAR },
		{ 0, 1, 20, false, COMPARE_SLOWER },
		{ INT64_MAX, INT64_MAX, 10000, false, COMPARE_UNCLEAR },
		{ INT64_MAX, 1, 20, false, COMPARE_FASTER },
		{ INT64_MAX, INT64_MAX - 1, 10000, true, COMPARE_UNCLEAR },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum compare_verdict verdict =
			compare_judge(rows[i].before, rows[i].after, rows[i].noise, rows[i].known);

		if (verdict != rows[i].verdict)
			printf("# row %zu: %s\n", i, compare_verdict_name(verdict));
		CHECK_EQ(verdict, rows[i].verdict);
	}
}

/* Stage 4 of the manual took 246 to 263 ms in three runs, stage 3 264.2 to 264.8 ms. */
TEST(noise_of_two_stages)
{
	static const struct {
		struct compare_times before, after;
		unsigned noise;
		enum compare_verdict verdict;
	} rows[] = {
		{ { 2642, 2645, 2648 }, { 2460, 2518, 2630 }, 44, COMPARE_FASTER },
		{ { 2460, 2518, 2630 }, { 2642, 2645, 2648 }, 46, COMPARE_SLOWER },
		/* One run of the second is as slow as one of the first. */
		{ { 2642, 2645, 2648 }, { 2460, 2518, 2643 }, 49, COMPARE_SAME },
		{ { 2600, 2645, 2648 }, { 2460, 2518, 2643 }, 65, COMPARE_UNCLEAR },
		/* Runs that are far from the other stage do not matter. */
		{ { 1000, 1000, 9000 }, { 100, 900, 900 }, 20, COMPARE_FASTER },
		{ { 1000, 1000, 1000 }, { 1000, 1000, 1000 }, 20, COMPARE_SAME },
		{ { 1000, 1000, 1000 }, { 990, 990, 990 }, 20, COMPARE_SAME },
		{ { 0, 0, 0 }, { 0, 0, 0 }, 20, COMPARE_SAME },
		{ { 0, 1, INT64_MAX }, { 1, 1, 1 }, 10000, COMPARE_UNCLEAR },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unsigned noise = compare_noise_of(&rows[i].before, &rows[i].after, 20);

		CHECK_EQ(noise, rows[i].noise);
		CHECK_EQ(compare_judge(rows[i].before.median, rows[i].after.median, noise, true),
			 rows[i].verdict);
	}
}

/* The times of before are 1000 in all turns.  7 of 8, 9 of 10 and 12 of 15 turns must agree. */
TEST(turns)
{
	static const struct {
		int64_t after[15];
		size_t count, agree;
		enum compare_verdict verdict;
	} rows[] = {
		/* All turns agree: with any spread, the verdict is clear. */
		{ { 1001, 1002, 1030, 1100, 9000 }, 5, 5, COMPARE_SLOWER },
		{ { 1021, 1021, 1021, 1021, 1021 }, 5, 5, COMPARE_SLOWER },
		{ { 999, 970, 900, 500, 1 }, 5, 5, COMPARE_FASTER },
		/* Within 2 % in all turns, even if all are on one side. */
		{ { 1020, 1020, 1020, 1020, 1020 }, 5, 5, COMPARE_SAME },
		{ { 980, 1000, 1020, 1001, 999 }, 5, 5, COMPARE_SAME },
		{ { 1000, 1000, 1000, 1000, 1000 }, 5, 5, COMPARE_SAME },
		/* One of five turns does not agree. */
		{ { 1100, 1100, 1100, 1100, 999 }, 5, 1, COMPARE_UNCLEAR },
		{ { 900, 900, 900, 900, 1001 }, 5, 4, COMPARE_UNCLEAR },
		{ { 1100, 1000, 1000, 1000, 1000 }, 5, 0, COMPARE_UNCLEAR },
		{ { 900, 900, 900, 900, 1000 }, 5, 4, COMPARE_UNCLEAR },
		/* Fewer turns never suffice. */
		{ { 2000, 2000, 2000, 2000 }, 4, 0, COMPARE_UNCLEAR },
		{ { 0 }, 0, 0, COMPARE_UNCLEAR },
		/* With more turns, some may differ. */
		{ { 1100, 1100, 1100, 1100, 1100, 1100, 1100, 900 }, 8, 7, COMPARE_SLOWER },
		{ { 1100, 1100, 1100, 1100, 1100, 1100, 900, 900 }, 8, 2, COMPARE_UNCLEAR },
		{ { 1000, 1000, 1000, 1000, 1000, 1000, 1000, 9000 }, 8, 7, COMPARE_SAME },
		{ { 1100, 1100, 1100, 1100, 1100, 1100, 1100, 1100, 1100, 1 },
		  10,
		  9,
		  COMPARE_SLOWER },
		{ { 1100, 1100, 1100, 1100, 1100, 1100, 1100, 1100, 1, 1 },
		  10,
		  2,
		  COMPARE_UNCLEAR },
		{ { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2000, 2000, 2000 },
		  15,
		  12,
		  COMPARE_FASTER },
		{ { 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 2000, 2000, 2000, 2000 },
		  15,
		  11,
		  COMPARE_UNCLEAR },
		{ { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX }, 5, 5, COMPARE_SLOWER },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t before[15];
		size_t agree;

		for (size_t j = 0; j < 15; j++)
			before[j] = 1000;
		enum compare_verdict verdict =
			compare_turns(before, rows[i].after, rows[i].count, &agree);
		if (verdict != rows[i].verdict || agree != rows[i].agree)
			printf("# row %zu: %s, %zu\n", i, compare_verdict_name(verdict), agree);
		CHECK_EQ(verdict, rows[i].verdict);
		CHECK_EQ(agree, rows[i].agree);
	}
}

/* The chance of a wrong verdict is at most 1 in 20 for any number of turns. */
TEST(many_turns)
{
	static int64_t before[1000], after[1000];
	size_t agree;

	for (size_t i = 0; i < 1000; i++) {
		before[i] = 1000;
		after[i] = i < 527 ? 1100 : 900;
	}
	CHECK_EQ(compare_turns(before, after, 1000, &agree), COMPARE_SLOWER);
	after[0] = 900;
	CHECK_EQ(compare_turns(before, after, 1000, &agree), COMPARE_UNCLEAR);
}

TEST(of_times)
{
	static const struct {
		int64_t times[6];
		size_t count;
		struct compare_times spread;
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
		struct compare_times spread = compare_times_of(times, rows[i].count);
		CHECK_EQ(spread.least, rows[i].spread.least);
		CHECK_EQ(spread.median, rows[i].spread.median);
		CHECK_EQ(spread.most, rows[i].spread.most);
	}
}

CHECK_MAIN()
