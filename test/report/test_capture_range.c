/*
 * test_capture_range.c - a profile of a capture range holds that range and nothing else.
 */
#include "stage.h"
#include "check.h"

#include "trace/calls/capture_range.h"

#include <pthread.h>
#include <stdio.h>

#define PROFILER "HOTPIN_CAPTURE=profiler-api"

static const char *function_name(size_t function)
{
	return (const char *const[]){ "cuMemAlloc_v2", "cuCtxGetCurrent" }[function];
}

static void begin(const char *profile, const char *capture)
{
	stage_clock(true);
	stage_begin_with(true, (const char *const[]){ profile, capture, NULL },
			 &(struct trace_facts){ .device = "NVIDIA H200",
						.driver_version = 13000,
						.began_ns = stage_base,
						.function_name = function_name,
						.functions = 2 });
}

/* The frozen clock, since stage_base. */
static uint64_t now;

static void pass(uint64_t ns)
{
	stage_pass(ns);
	now += ns;
}

/*
 * In 100 ms from now on: a call that copies for 10 ms, a kernel of 20 ms, a wait of 5 ms and a call
 * of 3 ms.
 */
static void work(const char *kernel)
{
	uint64_t at = stage_base + now;

	pass(100 * MILLI);
	mock_copy(CUPTI_MEMCPY, CUPTI_H2D, CUPTI_PAGEABLE, CUPTI_DEVICE, 1000, at, at + 10 * MILLI);
	stage_copied(TRACE_H2D, TRACE_PAGEABLE, 1000, now - 100 * MILLI, 10 * MILLI);
	trace_launched(TRACE_LAUNCH_KERNEL);
	mock_kernel(kernel, 0, at + 20 * MILLI, at + 40 * MILLI);
	mock_memset(50, at + 50 * MILLI, at + 51 * MILLI);
	trace_waited(at + 60 * MILLI, at + 65 * MILLI);
	trace_called(0, at + 70 * MILLI, at + 73 * MILLI, __builtin_frame_address(0));
	mock_complete();
}

static void check_parts(unsigned parts)
{
	CHECK_EQ(stage_number(NULL, "wall_ns"), parts * 100 * MILLI);
	CHECK_EQ(stage_number("split", "transfer_ns"), parts * 10 * MILLI);
	CHECK_EQ(stage_number("split", "kernel_ns"), parts * 21 * MILLI);
	CHECK_EQ(stage_number("split", "calls_ns"), parts * 8 * MILLI);
	CHECK_EQ(stage_number("split", "host_ns"), parts * 61 * MILLI);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), parts);
	CHECK_EQ(stage_row("hotpin", "h2d", "pageable", "count"), parts);
	CHECK_EQ(stage_number("kernel_runs", "count"), parts);
	CHECK_EQ(stage_number("memsets", "count"), parts);
	CHECK_EQ(stage_number("host", "launches"), parts);
	CHECK_EQ(stage_number("host", "waits"), parts);
	CHECK_EQ(stage_number("calls", "count"), parts);
	CHECK(strstr(stage_json, "outside") == NULL ||
	      strstr(stage_json, "\"outside_run\"") == strstr(stage_json, "outside") - 1);
	CHECK(strstr(stage_json, "fewer than") == NULL);
	CHECK(strstr(stage_json, "no split") == NULL);
}

static void start(void)
{
	now = 10 * SECOND;
}

/* Start-up and warm-up are left out, and all parts are added up. */
TEST_AFTER(parts_between_start_and_stop, start())
{
	begin("HOTPIN_PROFILE=trace", PROFILER);
	work("outside");
	for (int i = 0; i < 3; i++) {
		trace_profiler(true);
		work("inside");
		trace_profiler(false);
		pass(SECOND);
		work("outside");
	}
	stage_end();
	check_parts(3);
	CHECK(strstr(stage_json,
		     "\"these figures are of the capture range profiler-api alone, which began 3 times\"") !=
	      NULL);
	CHECK(strstr(stage_json, "\"HOTPIN_CAPTURE\": \"profiler-api\"") != NULL);
	CHECK(strstr(stage_text, "capture range profiler-api") != NULL);
	CHECK(strstr(stage_text, "300 ms") != NULL);
	/* The timeline: kernels, copies, memsets, calls that copy, waits, other calls. */
	for (int kind = 0; kind < 5; kind++) {
		char row[16];

		snprintf(row, sizeof(row), "\n\t\t\t[%d,", kind);
		if (!CHECK_EQ(stage_count(strstr(stage_json, "\"rows\": ["), row), 3))
			printf("# kind %d\n", kind);
	}
}

/* The bins of the run begin with the range: ten seconds of warm-up would make them coarse. */
TEST_AFTER(bins_begin_with_the_range, start())
{
	begin("HOTPIN_PROFILE=summary", PROFILER);
	work("outside");
	trace_profiler(true);
	work("inside");
	stage_end();
	check_parts(1);
	CHECK_EQ(stage_number("activity", "bin_ns"), MILLI);
	/* States, bytes up, bytes down, calls. */
	const char *first = strstr(stage_json, "\"bins\": [");
	CHECK(first != NULL && strncmp(first + 9, "\n\t\t\t[0,0,0,1000000,0,0,1000,0,0]", 32) == 0);
}

/* Starts and stops that repeat have no effect. */
TEST_AFTER(starts_are_not_counted, start())
{
	begin("HOTPIN_PROFILE=summary", PROFILER);
	trace_profiler(false);
	work("outside");
	trace_profiler(true);
	trace_profiler(true);
	work("inside");
	trace_profiler(false);
	work("outside");
	trace_profiler(false);
	stage_end();
	check_parts(1);
}

/* The call of the program that opened the range need not close it. */
TEST_AFTER(a_range_lasts_to_the_end, start())
{
	trace_profiler(true);
	begin("HOTPIN_PROFILE=summary", PROFILER);
	work("outside");
	trace_profiler(true);
	work("inside");
	work("inside");
	stage_end();
	check_parts(2);
}

static void *part_of_a_thread(void *arg)
{
	trace_captures(true);
	work("inside");
	return arg;
}

/* The range ends with the last of the parts that overlap. */
TEST_AFTER(parts_of_threads_overlap, start())
{
	pthread_t thread;

	begin("HOTPIN_PROFILE=summary", "HOTPIN_CAPTURE=nvtx:step");
	work("outside");
	trace_captures(true);
	pthread_create(&thread, NULL, part_of_a_thread, NULL);
	pthread_join(thread, NULL);
	trace_captures(false);
	work("inside");
	trace_captures(false);
	work("outside");
	stage_end();
	check_parts(2);
	CHECK(strstr(stage_json, "which began 1 time\"") != NULL);
}

TEST_AFTER(a_range_that_never_began, start())
{
	begin("HOTPIN_PROFILE=summary", "HOTPIN_CAPTURE=nvtx:step");
	work("outside");
	stage_end();
	CHECK_EQ(stage_number(NULL, "wall_ns"), 0);
	CHECK(strstr(stage_json,
		     "\"the capture range nvtx:step never began, so nothing was captured\"") !=
	      NULL);
	CHECK(strstr(stage_text, "the capture range nvtx:step never began") != NULL);
	CHECK(strstr(stage_text, "Host code") == NULL);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), -1);
	CHECK(strstr(stage_json, "fewer than") == NULL);
}

/* Work counts where it begins; its time counts where it was spent.  No record is missing. */
TEST_AFTER(work_across_the_borders, start())
{
	begin("HOTPIN_PROFILE=summary", PROFILER);
	uint64_t at = stage_base + now;

	trace_launched(TRACE_LAUNCH_KERNEL);
	pass(100 * MILLI);
	trace_profiler(true);
	trace_launched(TRACE_LAUNCH_KERNEL);
	trace_launched(TRACE_LAUNCH_KERNEL);
	pass(100 * MILLI);
	trace_profiler(false);
	pass(100 * MILLI);
	mock_kernel("outside", 0, at + 50 * MILLI, at + 120 * MILLI);
	mock_kernel("inside", 0, at + 190 * MILLI, at + 210 * MILLI);
	mock_kernel("outside", 0, at + 220 * MILLI, at + 230 * MILLI);
	stage_end();
	CHECK_EQ(stage_number(NULL, "wall_ns"), 100 * MILLI);
	CHECK_EQ(stage_number("split", "kernel_ns"), 30 * MILLI);
	CHECK_EQ(stage_number("kernel_runs", "count"), 1);
	CHECK_EQ(stage_number("kernel_runs", "busy_ns"), 20 * MILLI);
	CHECK_EQ(stage_number("host", "launches"), 2);
	CHECK(strstr(stage_json, "fewer than") == NULL);
}

/* Lost records are noticed, although most work is outside the range. */
TEST_AFTER(lost_records_are_noticed, start())
{
	begin("HOTPIN_PROFILE=summary", PROFILER);
	for (int i = 0; i < 50; i++)
		work("outside");
	trace_profiler(true);
	for (int i = 0; i < 50; i++)
		trace_launched(TRACE_LAUNCH_KERNEL);
	stage_end();
	CHECK(strstr(stage_json, "recorded 50 of 100 launched kernels") != NULL);
}

/* Gaps begin and end with the range.  The loop is not unrolled: its calls have one place. */
TEST_AFTER(gaps_of_the_range, start())
{
	begin("HOTPIN_PROFILE=summary", PROFILER);
	work("outside");
	for (volatile int i = 0; i < 2; i++) {
		pass(5 * SECOND);
		trace_profiler(true);
		work("inside");
		trace_profiler(false);
	}
	pass(9 * SECOND);
	stage_end();
	const char *gaps = strstr(stage_json, "\"gaps\": [");
	if (!CHECK(gaps != NULL))
		return;
	/* 70 ms before the call, and 27 ms after it. */
	CHECK_EQ(stage_count(gaps, "\"total_ns\": 140000000"), 1);
	CHECK_EQ(stage_count(gaps, "\"total_ns\": 54000000"), 1);
	CHECK_EQ(stage_count(gaps, "\"longest_ns\": 70000000"), 1);
}

/* The latest parts are known; a time in an older one is taken for outside. */
TEST_AFTER(more_parts_than_are_kept, start())
{
	begin("HOTPIN_PROFILE=summary", "HOTPIN_CAPTURE=nvtx:step");
	uint64_t at = stage_base + now;

	CHECK(!capture_range_holds(at));
	for (unsigned i = 0; i < CAPTURE_RANGE_PARTS + 3; i++) {
		capture_range_begins(at + 10 * i);
		capture_range_ends(at + 10 * i + 5);
	}
	CHECK(!capture_range_holds(at + 24));
	CHECK(capture_range_holds(at + 30));
	CHECK(capture_range_holds(at + 34));
	CHECK(!capture_range_holds(at + 35));
	CHECK(capture_range_holds(at + 10 * (CAPTURE_RANGE_PARTS + 2)));
	CHECK(!capture_range_holds(at + 10 * (CAPTURE_RANGE_PARTS + 2) + 5));
	stage_end();
}

CHECK_MAIN()
