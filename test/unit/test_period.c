/*
 * test_period.c - parses times as users write them, and computes the part of an event that lies in
 * a part of a run.
 */
#include "check.h"
#include "hotpin.h"
#include "period.h"

/* Called by code that reads profiles; nothing is read here. */
void hotpin_say(const char *format, ...)
{
	(void)format;
}

TEST(times)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{ "0", 0 },
		{ "1", 1000000000 },
		{ "1.5", 1500000000 },
		{ "1.5s", 1500000000 },
		{ "0.000000001", 1 },
		{ "0.0000000019", 1 },
		{ "200ms", 200000000 },
		{ "0.25ms", 250000 },
		{ "7us", 7000 },
		{ "5ns", 5 },
		{ "5.9ns", 5 },
		{ "1.", 1000000000 },
		{ "100000", 100000000000000 },
		{ "", -1 },
		{ ".5", -1 },
		{ "-1", -1 },
		{ "+1", -1 },
		{ " 1", -1 },
		{ "1 s", -1 },
		{ "1h", -1 },
		{ "1e3", -1 },
		{ "1.5.2", -1 },
		{ "1,5", -1 },
		{ "99999999999", -1 },
		{ "99999999999999999999", -1 },
		{ "999999999999999999999999999999", -1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(period_parse(rows[i].text), rows[i].ns);
}

TEST(overlaps)
{
	static const struct period_span spans[] = { { 10, 20 }, { 30, 40 }, { 50, 60 } };
	static const struct {
		int64_t start_ns, end_ns, inside_ns;
	} rows[] = {
		{ 0, 5, 0 },    { 0, 10, 0 },  { 0, 11, 1 },  { 10, 20, 10 },
		{ 12, 15, 3 },  { 20, 30, 0 }, { 19, 31, 2 }, { 0, 100, 30 },
		{ 35, 55, 10 }, { 60, 70, 0 }, { 15, 15, 0 }, { 59, 99, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(period_overlap(spans, 3, rows[i].start_ns, rows[i].end_ns),
			 rows[i].inside_ns);
	CHECK_EQ(period_overlap(spans, 0, 0, 100), 0);
}

CHECK_MAIN()
