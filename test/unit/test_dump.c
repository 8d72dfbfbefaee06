/*
 * test_dump.c - how often a running program writes its profile.
 */
#include "trace/out/dump.h"

#include "check.h"

#define SECOND 1000000000ull

TEST(a_profile_is_never_much_older_than_the_run)
{
	for (uint64_t elapsed = SECOND; elapsed < 30 * 86400 * SECOND; elapsed += elapsed / 3) {
		uint64_t age = dump_interval_ns(elapsed);

		CHECK(age <= 60 * SECOND);
		CHECK(age <= SECOND / 2 || age <= elapsed / 50);
	}
	CHECK(dump_interval_ns(UINT64_MAX) <= 60 * SECOND);
}

/* A day of profiles of 598 kB each, with 1,024 sites. */
TEST(a_day_writes_about_a_gigabyte)
{
	uint64_t at = 0, reports = 0;

	for (; at < 86400 * SECOND; at += dump_interval_ns(at))
		reports++;
	CHECK(reports * 598000 < 1100000000);
}

CHECK_MAIN()
