/*
 * test_dump.c - how often a running program writes its profile.
 */
#include "trace/dump.h"

#include "check.h"

#define SECOND 1000000000ull

TEST(the_interval_grows_with_the_run)
{
	static const struct {
		uint64_t elapsed_ns, interval_ns;
	} rows[] = {
		{ 0, SECOND / 2 },
		{ 10 * SECOND, SECOND / 2 },
		{ 25 * SECOND, SECOND / 2 },
		{ 26 * SECOND, 520000000 },
		{ 100 * SECOND, 2 * SECOND },
		{ 1000 * SECOND, 20 * SECOND },
		{ 3000 * SECOND, 60 * SECOND },
		{ 3001 * SECOND, 60 * SECOND },
		{ 30 * 86400 * SECOND, 60 * SECOND },
		{ UINT64_MAX, 60 * SECOND },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(dump_interval_ns(rows[i].elapsed_ns), rows[i].interval_ns);
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
