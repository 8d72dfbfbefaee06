/*
 * test_compare_verdict.c - the verdict (faster, slower, same, unclear) of two times.
 */
#include "check.h"
#include "compare_verdict.h"
#include "hotpin.h"

void hotpin_say(const char *format, ...)
{
	(void)format;
}

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

CHECK_MAIN()
