/*
 * test_output.c - how often a running program writes its profile.
 */
#include "trace/out/output.h"

#include "check.h"

#define SECOND 1000000000ull

/* At first twice a second, after an hour every minute, and never less often. */
TEST(a_profile_is_never_much_older_than_the_run)
{
	CHECK_EQ(output_interval_ns(SECOND), SECOND / 2);
	CHECK_EQ(output_interval_ns(1000 * SECOND), 20 * SECOND);
	CHECK_EQ(output_interval_ns(3600 * SECOND), 60 * SECOND);
	CHECK_EQ(output_interval_ns(UINT64_MAX), 60 * SECOND);
}

/* A day of profiles of 598 kB each, with 1,024 sites. */
TEST(a_day_writes_about_a_gigabyte)
{
	uint64_t at = 0, reports = 0;

	for (; at < 86400 * SECOND; at += output_interval_ns(at))
		reports++;
	CHECK(reports * 598000 < 1100000000);
}

CHECK_MAIN()
