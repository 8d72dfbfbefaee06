/*
 * test_tsc_clock.c - the ratio between the time stamp counter and the clock, and the clock made of
 * both.
 */
#include "base/tsc_clock.h"
#include "base/clock.h"
#include "check.h"
#include "clock.h"

#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

TEST(rates)
{
	static const struct {
		uint64_t ticks, ns, rate;
	} rows[] = {
		/* 1, 2 and 4 GHz */
		{ SECOND, SECOND, UINT64_C(1) << 32 },
		{ 2 * SECOND, SECOND, UINT64_C(1) << 31 },
		{ 800000000, 200000000, UINT64_C(1) << 30 },
		/* A year at 3 GHz. */
		{ 3 * 31536000 * SECOND, 31536000 * SECOND, 1431655765 },
		/* Too little time has passed. */
		{ 0, 0, 0 },
		{ 600000000, 199999999, 0 },
		/* The counter stands still, runs backward or far too fast. */
		{ 0, SECOND, 0 },
		{ SECOND / 2 - 1, SECOND, 0 },
		{ UINT64_MAX, SECOND, 0 },
		{ 11 * SECOND, SECOND, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(hp_tsc_rate(rows[i].ticks, rows[i].ns), rows[i].rate);
	CHECK_EQ(hp_tsc_ns(0, UINT64_C(1) << 31), 0);
	CHECK_EQ(hp_tsc_ns(3000, UINT64_C(1) << 31), 1500);
	/* An hour at 2 GHz. */
	CHECK_EQ(hp_tsc_ns(7200 * SECOND, UINT64_C(1) << 31), 3600 * SECOND);
}

/* A clock that stands still, or runs at another rate, is not the kernel's. */
TEST(a_clock_of_somebody_else)
{
	hp_tsc_clock_start();
	CHECK(!hp_tsc_is_usable());
	for (int i = 0; i < 10; i++) {
		test_clock_pass(TEST_S);
		hp_tsc_clock_adjust();
		CHECK_EQ(hp_tsc_now_ns(), test_clock_ns());
	}
}

/* With either clock, the two agree, and so do readings of the counter, if it can be used. */
TEST(the_kernels_clock)
{
	setenv("TEST_CLOCK", "real", 1);
	hp_tsc_clock_start();
	uint64_t end_ns = hp_now_ns() + 300000000;
	do {
		hp_tsc_clock_adjust();
		uint64_t before_ns = hp_now_ns(), between_ns = hp_tsc_now_ns(),
			 from = hp_tsc_read(), to = hp_tsc_read(), after_ns = hp_now_ns();

		CHECK(between_ns + 1000 >= before_ns && between_ns <= after_ns + 1000);
		if (!hp_tsc_is_usable())
			continue;
		struct hp_tsc_span span = hp_tsc_span(from, to);
		CHECK(span.from_ns <= span.to_ns);
		CHECK(span.from_ns + 1000 >= before_ns && span.to_ns <= after_ns + 1000);
	} while (hp_now_ns() < end_ns);
}

CHECK_MAIN()
