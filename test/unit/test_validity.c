/*
 * test_validity.c - what a report says about incomplete figures that no event script can make.
 */
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/events.h"
#include "trace/out/validity.h"
#include "trace/places/sites.h"

#include "check.h"
#include "trace/calls/gaps.h"

#include <string.h>

static struct aggregate device;
static struct report report;
static struct cupti cupti;

static bool is_told(const char *part)
{
	for (unsigned i = 0; i < (unsigned)report.warnings; i++)
		if (strstr(report.warning[i], part) != NULL)
			return true;
	return false;
}

static void check_validity(void)
{
	report.warnings = 0;
	report.why_not = "";
	report.cupti = &cupti;
	report.collected.device = &device;
	validity_check(&report);
}

TEST(what_is_missing_is_said)
{
	check_validity();
	CHECK(!is_told("missing from the split"));
	CHECK(!is_told("have no times"));
	CHECK(!is_told("had not completed"));
	CHECK(!is_told("came too late: the split is approximate"));
	report.operations.spans_lost = 3;
	device.untimed = 4;
	device.incomplete = 5;
	report.split.wall_ns = 1000;
	report.split.late_ns = 11;
	check_validity();
	CHECK(is_told("3 host calls are missing from the split"));
	CHECK(is_told("4 records have no times"));
	CHECK(is_told("5 operations had not completed"));
	CHECK(is_told("came too late: the split is approximate"));
}

/* While a run continues, records may still arrive. */
TEST(while_it_runs_nothing_is_lost)
{
	report.operations.must_show = 20;
	report.collected.must_show_left = 20;
	device.records = 1;
	check_validity();
	CHECK(!is_told("taken by another tool"));
	CHECK(!is_told("fewer than there were"));
	report.ended = true;
	check_validity();
	CHECK(is_told("taken by another tool"));
	/* It is said once. */
	CHECK(!is_told("fewer than there were"));
}

TEST(without_a_device_nothing_can_be_believed)
{
	check_validity();
	CHECK(report.device && !report.truncated);
	report.warnings = 0;
	report.collected.device = NULL;
	validity_check(&report);
	CHECK(!report.device && report.truncated);
	CHECK(is_told("did not end within 5 s"));
}

static uint64_t now_ns = 1000000;

/* Calls a driver function `gap_ns` after the previous one; the call takes 5 us. */
__attribute__((noinline)) static void call(uint32_t function, uint64_t gap_ns)
{
	now_ns += gap_ns + 5000;
	gaps_called(function, now_ns - 5000, now_ns, __builtin_frame_address(0), NULL);
}

/* More pairs than the table has room for: the smallest are dropped, but the sums stay complete. */
TEST(dropped_gaps_are_told)
{
	const uint32_t many = GAPS_MOST + 100;
	struct gaps_counts counts;
	struct gap gap;
	uint64_t total_ns = 0;
	size_t found = 0;
	bool has_most = false;

	CHECK(sites_start() == 0 && gaps_start(now_ns) == 0);
	call(0, GAPS_LEAST_NS - 1);
	for (uint32_t i = 1; i <= many; i++)
		call(i, i == 7 ? 1000 * GAPS_LEAST_NS : GAPS_LEAST_NS + i);
	gaps_count(&counts);
	CHECK_EQ(counts.dropped.count, many - GAPS_MOST);
	for (; gaps_read(found, &gap); found++) {
		total_ns += gap.sum.total_ns;
		has_most |= gap.after.function == 7;
	}
	CHECK_EQ(found, GAPS_MOST);
	CHECK(has_most);
	CHECK_EQ(total_ns + counts.dropped.total_ns, (uint64_t)(many - 1) * GAPS_LEAST_NS +
							     (uint64_t)many * (many + 1) / 2 - 7 +
							     1000 * GAPS_LEAST_NS);
	report.calls = true;
	check_validity();
	CHECK(is_told("host code: 100 gaps between rare pairs of calls"));
}

/* A run of 1,000 copies and 1,000 launched kernels; every record is there. */
static void whole_run(void)
{
	report.ended = true;
	report.operations.must_show = 1000;
	report.operations.kernels = 1000;
	report.operations.copies[TRACE_H2D][TRACE_PROMOTED] =
		(struct trace_sum){ .count = 1000, .bytes = 100000 };
	device.copies[TRACE_H2D][TRACE_PINNED] =
		(struct aggregate_sum){ .count = 1000, .bytes = 100000 };
	device.kernel_runs.count = 1000;
	device.records = 2000;
}

static bool split_is_denied_by(const char *part)
{
	check_validity();
	return !report.aligned && report.device && is_told(part) &&
	       strstr(report.split_why, part) != NULL;
}

static bool split_is_shown(void)
{
	check_validity();
	return report.aligned && report.split_why[0] == '\0';
}

/* A discarded buffer is assumed to have been full of the shortest records. */
TEST(no_split_where_a_discarded_buffer_may_have_held_more_than_a_hundredth)
{
	whole_run();
	report.collected.buffers.discarded = 1;
	CHECK(split_is_denied_by("(0 dropped, 1 buffers)"));
	device.records = 100 * CUPTI_BUFFERS_DISCARD_RECORDS;
	CHECK(split_is_shown() && is_told("(0 dropped, 1 buffers)"));
}

TEST(no_split_where_the_last_flush_hung)
{
	whole_run();
	report.collected.flush_hung = true;
	CHECK(split_is_denied_by("CUPTI lost records") && report.truncated);
}

TEST(changes_of_range_that_found_no_room)
{
	check_validity();
	CHECK(report.warnings == 0);
	for (int i = 0; i < 65536 / 2; i++)
		nvtx_ranges_end(nvtx_ranges_begin("", "range", (uint64_t)i), (uint64_t)i);
	check_validity();
	CHECK(report.warnings == 0);
	nvtx_ranges_end(nvtx_ranges_begin("", "range", 1), 1);
	check_validity();
	CHECK(is_told("ranges: 2 changes are missing"));
}

TEST(events_without_a_track)
{
	check_validity();
	CHECK(report.warnings == 0);
	events_add(&(struct event){ .track = EVENTS_TRACKS_MOST, .duration_ns = 5 });
	check_validity();
	CHECK(is_told("timeline: 1 events are left out"));
}

TEST(no_more_warnings_than_there_is_room_for)
{
	device.untimed = device.incomplete = device.kernels_unnamed = 1;
	report.why_not = "";
	report.collected.device = &device;
	report.warnings = REPORT_WARNINGS_MOST - 1;
	validity_check(&report);
	CHECK_EQ(report.warnings, REPORT_WARNINGS_MOST);
	CHECK(is_told("1 operations had not completed"));
	CHECK(!is_told("have no times"));
}

CHECK_MAIN()
