/*
 * test_judge.c - what a report's reader is told of figures that are not all there.
 */
#include "trace/report.h"

#include "check.h"

#include <string.h>

static struct aggregate device;
static struct report report;

static bool is_told(const char *part)
{
	for (unsigned i = 0; i < (unsigned)report.warnings; i++)
		if (strstr(report.warning[i], part) != NULL)
			return true;
	return false;
}

static void judge(void)
{
	report.warnings = 0;
	report.why_not = "";
	report.collected.device = &device;
	report_judge(&report);
}

TEST(what_is_missing_is_said)
{
	judge();
	CHECK(!is_told("missing from the split"));
	CHECK(!is_told("without times"));
	CHECK(!is_told("had not ended"));
	CHECK(!is_told("too late for the split"));
	report.calls.spans_lost = 3;
	device.untimed = 4;
	device.incomplete = 5;
	report.split.wall_ns = 1000;
	report.split.late_ns = 11;
	judge();
	CHECK(is_told("3 host calls are counted but missing from the split"));
	CHECK(is_told("4 records came without times"));
	CHECK(is_told("5 operations had not ended"));
	CHECK(is_told("too late for the split"));
}

/* Records of a run that goes on are still to come. */
TEST(while_it_runs_nothing_is_lost)
{
	report.calls.must_show = 20;
	report.collected.must_show_left = 20;
	device.records = 1;
	judge();
	CHECK(!is_told("lost to another client"));
	CHECK(!is_told("fewer than were made"));
	report.ended = true;
	judge();
	CHECK(is_told("lost to another client"));
	/* Said once. */
	CHECK(!is_told("fewer than were made"));
}

TEST(without_a_device_nothing_can_be_believed)
{
	judge();
	CHECK(report.device && !report.truncated);
	report.warnings = 0;
	report.collected.device = NULL;
	report_judge(&report);
	CHECK(!report.device && report.truncated);
	CHECK(is_told("did not end within 5 s"));
}

CHECK_MAIN()
