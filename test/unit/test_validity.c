/*
 * test_validity.c - what a report says about incomplete figures.
 */
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/events.h"
#include "trace/out/validity.h"

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
	CHECK(is_told("3 host calls are counted but missing from the split"));
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
	CHECK(!is_told("fewer than were made"));
	report.ended = true;
	check_validity();
	CHECK(is_told("taken by another tool"));
	/* It is said once. */
	CHECK(!is_told("fewer than were made"));
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

/* More pairs of calls than the table has room for. */
TEST(dropped_gaps_are_told)
{
	report.gaps = gaps_start(1) == 0;
	CHECK(report.gaps);
	for (uint64_t i = 1; i <= GAPS_MOST + 3; i++)
		gaps_called((uint32_t)i, 2 * i * GAPS_LEAST_NS, (2 * i + 1) * GAPS_LEAST_NS,
			    __builtin_frame_address(0), NULL);
	check_validity();
	CHECK(is_told("host code: 3 gaps between rare pairs of calls"));
}

/* A tenth of asynchronous copies may be in flight; of others, eight. */
TEST(few_may_be_in_flight)
{
	struct operations_sum *ours = &report.operations.copies[TRACE_H2D][TRACE_PROMOTED];
	struct aggregate_sum *theirs = &device.copies[TRACE_H2D][AGGREGATE_PINNED];

	device.records = 1;
	report.ended = true;
	*ours = (struct operations_sum){ .count = 20, .bytes = 1000 };
	*theirs = (struct aggregate_sum){ .count = 20, .bytes = 900 };
	check_validity();
	CHECK(report.aligned && report.warnings == 0);
	theirs->bytes = 899;
	check_validity();
	CHECK(!report.aligned && is_told("recorded 20 of 20 copies"));
	report.ended = false;
	check_validity();
	CHECK(report.aligned && report.warnings == 0);

	report.ended = true;
	theirs->bytes = 1000;
	report.operations.must_show = 20;
	report.collected.must_show_left = 8;
	check_validity();
	CHECK(report.aligned && report.warnings == 0);
	report.collected.must_show_left = 9;
	check_validity();
	CHECK(!report.aligned && is_told("taken by another tool at"));
	/* Fewer missing records are too many if that many must be there. */
	report.operations.must_show = 21;
	report.collected.must_show_left = 1;
	check_validity();
	CHECK(!report.aligned && is_told("taken by another tool at"));
	report.collected.must_show_left = 0;
	check_validity();
	CHECK(!report.aligned && is_told("recorded 20 of 21 copies: no split"));
}

/* A run of 1,000 copies and 1,000 launched kernels; every record is there. */
static void whole_run(void)
{
	report.ended = true;
	report.operations.must_show = 1000;
	report.operations.kernels = 1000;
	report.operations.copies[TRACE_H2D][TRACE_PROMOTED] =
		(struct operations_sum){ .count = 1000, .bytes = 100000 };
	device.copies[TRACE_H2D][AGGREGATE_PINNED] =
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

TEST(no_split_where_more_than_a_hundredth_was_dropped)
{
	whole_run();
	CHECK(split_is_shown() && report.warnings == 0);
	report.collected.dropped = 20;
	CHECK(split_is_shown() && is_told("CUPTI lost records (20 dropped"));
	report.collected.dropped = 21;
	CHECK(split_is_denied_by("CUPTI lost records (21 dropped"));
	/* Also while the program runs. */
	report.ended = false;
	CHECK(split_is_denied_by("CUPTI lost records (21 dropped"));
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

/* A loss that CUPTI reports does not excuse other missing records. */
TEST(no_split_where_copies_are_missing_after_a_loss)
{
	whole_run();
	report.collected.dropped = 1;
	report.collected.must_show_left = 9;
	device.copies[TRACE_H2D][AGGREGATE_PINNED].count = 990;
	CHECK(split_is_shown() && is_told("recorded 10 copies fewer"));
	device.copies[TRACE_H2D][AGGREGATE_PINNED].count = 989;
	CHECK(split_is_denied_by("recorded 989 of 1000 copies"));
	CHECK(!is_told("another tool"));
	device.copies[TRACE_H2D][AGGREGATE_PINNED] =
		(struct aggregate_sum){ .count = 1000, .bytes = 98999 };
	CHECK(split_is_denied_by("recorded 1000 of 1000 copies"));
}

TEST(no_split_where_the_last_flush_hung)
{
	whole_run();
	report.collected.flush_hung = true;
	CHECK(split_is_denied_by("CUPTI lost records") && report.truncated);
}

TEST(kernels_are_compared_with_launches)
{
	whole_run();
	device.kernel_runs.count = 990;
	CHECK(split_is_shown() && is_told("recorded 10 kernels fewer than were launched"));
	device.kernel_runs.count = 989;
	CHECK(split_is_denied_by("recorded 989 of 1000 launched kernels"));
	/* A kernel that has not ended has a record, and a captured one may never run. */
	device.incomplete = 1;
	CHECK(split_is_shown());
	device.incomplete = 0;
	report.operations.kernels_in_graphs = 2;
	CHECK(split_is_shown());
	/* Graphs and other libraries run kernels without separate launches. */
	device.kernel_runs.count = 5000;
	CHECK(split_is_shown() && report.warnings == 0);
	/* While a run continues, records may still arrive. */
	device.kernel_runs.count = 1;
	report.ended = false;
	CHECK(split_is_shown() && report.warnings == 0);
}

TEST(no_record_of_any_kernel)
{
	report.ended = true;
	report.operations.kernels = 1;
	check_validity();
	CHECK(!report.device && !report.aligned && is_told("recorded nothing"));
	CHECK(strcmp(report.why_not, "CUPTI was taken by another tool") == 0);
	report.collected.buffers.discarded = 1;
	CHECK(split_is_denied_by("CUPTI lost records") && !is_told("another tool"));
}

TEST(what_took_no_time_is_in_no_rate)
{
	device.copies[TRACE_H2D][AGGREGATE_PAGEABLE] = (struct aggregate_sum){
		.count = 3, .bytes = 3000, .busy_ns = 1000, .untimed_bytes = 1000
	};
	device.fastest[TRACE_H2D] = 1000000000;
	check_validity();
	CHECK(report.peak_observed);
	CHECK_EQ(report.peak[TRACE_H2D], 2000000000);
	report.link_bytes_per_s = 2000000000;
	check_validity();
	CHECK(!report.peak_observed);
	CHECK_EQ(report.peak[TRACE_D2H], 2000000000);
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
	report.events = true;
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
