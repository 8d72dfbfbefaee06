/*
 * test_figures.c - figures computed from records must be exact to the byte and to the nanosecond.
 */
#include "stage.h"
#include "check.h"

#include "base/clock.h"
#include "trace/calls/capture_range.h"
#include "trace/calls/operations.h"
#include "trace/collect/rewritten.h"
#include "trace/collect/correlation.h"

static const char *const summary[] = { "HOTPIN_PROFILE=summary", "HOTPIN_STAGE=3: spmv on gpu",
				       NULL };

/* Records a copy at stage_base + at. */
static void device_copy(uint8_t copy_kind, uint8_t source, uint8_t target, uint64_t bytes,
			uint64_t at, uint64_t took)
{
	mock_copy(copy_kind == CUPTI_P2P ? CUPTI_MEMCPY2 : CUPTI_MEMCPY, copy_kind, source, target,
		  bytes, stage_base + at, stage_base + at + took);
}

/* CUPTI tells the call that makes the next copies. */
static void called(uint32_t number, uint64_t at)
{
	mock_call(276, trace_thread(), number, stage_base + at, stage_base + at + 10);
	mock_cupti.correlation = number;
}

static void kernel(const char *name, uint64_t at, uint64_t took)
{
	trace_launched(TRACE_LAUNCH_KERNEL);
	mock_kernel(name, 0, stage_base + at, stage_base + at + took);
}

static long long split_sum(void)
{
	return stage_number("split", "host_ns") + stage_number("split", "startup_ns") +
	       stage_number("split", "calls_ns") + stage_number("split", "transfer_ns") +
	       stage_number("split", "kernel_ns") + stage_number("split", "overlap_ns");
}

/*
 * Ten seconds: 1 s of uploads in a call of 1.2 s, 2 s of kernels of which 0.5 s overlap a download,
 * 0.3 s of waiting, and host code.
 */
static void play(void)
{
	device_copy(CUPTI_H2D, CUPTI_PAGEABLE, CUPTI_DEVICE, 8000000000, 1 * SECOND, SECOND);
	stage_copied(TRACE_H2D, TRACE_PAGEABLE, 8000000000, 900 * MILLI, 1200 * MILLI);
	kernel("_ZN2la4spmvIfEEvPT_", 3 * SECOND, 1500 * MILLI);
	kernel("_Z5saxpyifPfS_", 4500 * MILLI, 500 * MILLI);
	device_copy(CUPTI_D2H, CUPTI_DEVICE, CUPTI_PINNED, 25000000000, 4500 * MILLI, SECOND);
	stage_copied(TRACE_D2H, TRACE_PROMOTED, 25000000000, 4400 * MILLI, 1100 * MILLI);
	device_copy(CUPTI_D2D, CUPTI_DEVICE, CUPTI_DEVICE, 4000000000, 6 * SECOND, 2 * MILLI);
	mock_memset(1000, stage_base + 7 * SECOND, stage_base + 7 * SECOND + MILLI);
	stage_waited(8 * SECOND, 300 * MILLI);
}

TEST(table)
{
	setenv("COLUMNS", "80", 1);
	stage_begin(true, summary);
	CHECK(trace_active());
	play();
	stage_end();
	CHECK(!trace_active());
	CHECK(stage_is_golden("table"));
	CHECK(strstr(mock_cupti.log, "register +10 +1 +22 +2 ") == mock_cupti.log);
	CHECK(strstr(mock_cupti.log, "flush1 -2 -22 -1 -10 ") != NULL);
	CHECK_EQ(mock_cupti.null_buffers + mock_cupti.dirty_buffers + mock_cupti.forbidden_calls,
		 0);
}

/* Checks names, notes and rows that are too long for any line. */
static void fits(const char *columns, size_t most)
{
	static const char *const options[] = {
		"HOTPIN_PROFILE=summary",
		"HOTPIN_STAGE=\xc3\xa4 very long label that no terminal has room for at all", NULL
	};

	setenv("COLUMNS", columns, 1);
	setenv("LC_ALL", "C", 1);
	stage_begin(true, options);
	play();
	kernel("_ZN2la80a_name_of_a_kernel_that_has_no_end_within_the_width_of_any_terminal_that_is_seenEv",
	       SECOND, 1);
	for (int j = 0; j < 40; j++)
		stage_copied(TRACE_H2D, TRACE_PINNED, 1 << 20, SECOND, MILLI);
	mock_cupti.dropped = 1234567;
	stage_end();
	CHECK(stage_count(stage_text, "\n") <= 12);
	for (const char *at = stage_text; *at != '\0'; at += strcspn(at, "\n") + 1)
		if (!CHECK(strcspn(at, "\n") <= most))
			printf("# %s columns: %.*s\n", columns, (int)strcspn(at, "\n"), at);
	CHECK(strstr(stage_text, "\"? very long") != NULL);
}

CASE(table_of_60_columns, fits("60", 60))
CASE(table_of_80_columns, fits("80", 80))
CASE(table_of_no_less_than_60_columns, fits("7", 60))

TEST(table_without_cupti)
{
	setenv("COLUMNS", "80", 1);
	stage_begin(true,
		    (const char *const[]){ "HOTPIN_PROFILE=summary", "HOTPIN_CUPTI=off", NULL });
	play();
	stage_end();
	CHECK(stage_is_golden("without_cupti"));
	CHECK(mock_cupti.log[0] == '\0');
}

TEST(share_of_the_link)
{
	stage_clock(true);
	stage_begin_with(true, summary,
			 &(struct trace_facts){ .began_ns = stage_base,
						.link_bytes_per_s = 32000000000,
						.on_stand_in = true });
	play();
	stage_end();
	CHECK(strstr(stage_text, "Stand-in device: all device times are modeled") != NULL);
	CHECK_EQ(stage_number("environment", "peak_h2d_bytes_per_s"), 32000000000);
	CHECK_EQ(stage_number("environment", "peak_d2h_bytes_per_s"), 32000000000);
	CHECK(strstr(stage_json, "\"peak_source\": \"link\"") != NULL);
}

/* A link that the run exceeds is not the one that its copies took. */
TEST(nothing_is_faster_than_the_peak)
{
	stage_clock(true);
	stage_begin_with(
		true, summary,
		&(struct trace_facts){ .began_ns = stage_base, .link_bytes_per_s = 24900000000 });
	play();
	stage_end();
	CHECK_EQ(stage_number("environment", "peak_d2h_bytes_per_s"), 25000000000);
	CHECK_EQ(stage_number("environment", "peak_h2d_bytes_per_s"), -2);
	CHECK(strstr(stage_json, "\"peak_source\": \"observed\"") != NULL);
}

TEST(everything_at_once_fits_12_lines)
{
	setenv("OMPI_COMM_WORLD_RANK", "7", 1);
	setenv("OMPI_COMM_WORLD_SIZE", "8", 1);
	stage_clock(true);
	stage_begin_with(true, summary,
			 &(struct trace_facts){ .began_ns = stage_base, .on_stand_in = true });
	play();
	for (uint8_t copy_kind = 0; copy_kind <= CUPTI_P2P; copy_kind++)
		for (uint8_t memory = 0; memory < CUPTI_MEMORY_KINDS + 3; memory++)
			device_copy(copy_kind, memory, memory, 1000, SECOND, MICRO);
	mock_kernel("third", 1, stage_base + SECOND, stage_base + 2 * SECOND);
	mock_kernel("unended", 2, stage_base + SECOND, 0);
	mock_kernel("untimed", 0, 0, 0);
	mock_copy(CUPTI_MEMCPY, CUPTI_H2D, 1, 3, 5, stage_base - SECOND, stage_base - SECOND + 1);
	/* Few enough that there is still a split. */
	for (int i = 0; i < 2000; i++)
		mock_kernel("short", 0, stage_base + SECOND, stage_base + SECOND + 1);
	mock_cupti.dropped = 17;
	stage_end();
	CHECK(stage_count(stage_text, "\n") <= 12);
	CHECK_EQ(stage_count(stage_text, "\n"), stage_count(stage_text, "==hotpin== "));
	CHECK(strstr(stage_text, "rank 7") != NULL);
	CHECK(strstr(stage_json, "\"rank\": \"7\"") != NULL);
	CHECK_EQ(stage_number("process", "ranks"), 8);
	CHECK(stage_number("process", "cpus") > 0);
	CHECK(strstr(stage_text, "notes in the report\n") != NULL);
	CHECK(strstr(stage_json, "(17 dropped, 0 buffers)") != NULL);
	CHECK_EQ(stage_number("records", "incomplete"), 1);
	CHECK_EQ(stage_number("records", "untimed"), 1);
	CHECK_EQ(stage_number("records", "outside_run"), 1);
	CHECK_EQ(stage_number(NULL, "devices"), 2);
	CHECK_EQ(split_sum(), 10 * SECOND);
}

TEST_AFTER(records_of_any_size_order_and_kind, stage_begin(true, summary))
{
	static const size_t extra[] = { 0, 8, 104, 2000 };

	for (uint64_t i = 4000; i-- > 0;) {
		mock_cupti.extra_bytes = extra[i % 4];
		device_copy(CUPTI_H2D, CUPTI_PAGEABLE, CUPTI_DEVICE, i, i * MILLI, 10 * MICRO);
		kernel("k", i * MILLI + 5 * MICRO, 10 * MICRO);
		if (i % 10 == 0)
			mock_other(i % 20 == 0 ? 51 : 38);
	}
	stage_end();
	CHECK(mock_cupti.buffers_requested > 4);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "count"), 4000);
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "bytes"), 4000 * 3999 / 2);
	CHECK_EQ(stage_number("kernel_runs", "count"), 4000);
	CHECK_EQ(stage_number("kernel_runs", "busy_ns"), 4000 * 10 * MICRO);
	CHECK_EQ(stage_number("records", "read"), 8400);
	CHECK_EQ(stage_number("split", "transfer_ns"), 4000 * 5 * MICRO);
	CHECK_EQ(stage_number("split", "overlap_ns"), 4000 * 5 * MICRO);
	CHECK_EQ(stage_number("split", "kernel_ns"), 4000 * 5 * MICRO);
	CHECK_EQ(split_sum(), 10 * SECOND);
	CHECK_EQ(mock_cupti.dirty_buffers, 0);
}

TEST_AFTER(kernel_names_of_all_sorts, stage_begin(true, summary))
{
	static char names[6000][32];

	kernel("esc\x1b[31m \"quoted\\\" \xff\xfe \xc3\xbc\n", SECOND, 9 * MILLI);
	kernel(NULL, SECOND, MICRO);
	for (int i = 0; i < 6000; i++) {
		snprintf(names[i], sizeof(names[i]), "kernel_%d", i);
		kernel(names[i], SECOND, MICRO);
		kernel(names[i], SECOND, MICRO);
	}
	stage_end();
	CHECK(strchr(stage_json, 0x1b) == NULL);
	CHECK(strstr(stage_json,
		     "\"esc\\u001b[31m \\\"quoted\\\\\\\" \\ufffd\\ufffd \xc3\xbc\\u000a\"") !=
	      NULL);
	CHECK_EQ(stage_count(stage_json, "\"kernel_"), 4096 - 2 + 2); /* kernel_ns, kernel_runs */
	CHECK(strstr(stage_text, "kernel runs are summed up as (others)") != NULL);
	CHECK_EQ(stage_number("kernel_runs", "count"), 12002);
	/* Of each kernel, of short gaps and of those without a place. */
	CHECK_EQ(stage_count(stage_json, "\"longest_ns\""), 4097 + 2);
}

TEST(clock_that_settles_with_the_first_record)
{
	mock_cupti.early_error = 5000 * (int64_t)SECOND;
	stage_begin(true, summary);
	play();
	stage_end();
	CHECK_EQ(stage_number("records", "outside_run"), 0);
	CHECK_EQ(stage_number("split", "transfer_ns"), 1500 * MILLI);
	CHECK_EQ(split_sum(), 10 * SECOND);
}

TEST(clock_that_cannot_be_read)
{
	mock_cupti.timestamp_result = CUPTI_NOT_COMPATIBLE;
	stage_begin(true, summary);
	/* CLOCK_REALTIME replaces it, and these stamps are of another clock. */
	mock_cupti.clock_offset = 12345;
	play();
	stage_end();
	CHECK_EQ(stage_number(NULL, "split"), -2);
	CHECK(strstr(stage_text, "clock does not match") != NULL);
	/* Figures that need no common clock are still there. */
	CHECK_EQ(stage_row("cupti", "h2d", "pageable", "busy_ns"), SECOND);
	CHECK_EQ(stage_number("kernel_runs", "busy_ns"), 2 * SECOND);
	CHECK_EQ(stage_number("host", "copying_ns"), -2);
}

/* schema.py compares the names of the timeline with those of the table. */
TEST(timeline_of_odd_names)
{
	static char templates[4000];

	memset(templates, 'x', sizeof(templates) - 1);
	stage_begin(true, (const char *const[]){ "HOTPIN_PROFILE=trace", NULL });
	kernel(templates, SECOND, MILLI);
	kernel(NULL, 2 * SECOND, MILLI);
	stage_end();
	CHECK_EQ(stage_count(stage_json, "\n\t\t\t[0,"), 2);
	CHECK_EQ(stage_count(stage_json, templates), 2);
}

/* Thousands of staged copies begin before records arrive: each finds its copy, or none. */
TEST(many_staged_copies)
{
	enum { COPIES = REWRITTEN_MOST + 2000 };
	static uint64_t at[COPIES];
	const uint64_t bytes = 4 << 20;

	stage_begin(true, summary);
	for (int i = 0; i < COPIES; i++) {
		uint64_t ticket = trace_staging(TRACE_D2H, bytes);

		at[i] = hp_now_ns() - stage_base;
		stage_pass(MICRO / 2);
		trace_staged(ticket, bytes);
		stage_pass(10 * MICRO);
	}
	stage_pass(2 * MILLI);
	for (uint32_t i = 0; i < COPIES; i++)
		for (uint32_t piece = 0; piece < 2; piece++) {
			called(1 + 2 * i + piece, at[i]);
			device_copy(CUPTI_D2H, CUPTI_DEVICE, CUPTI_PINNED, bytes / 2, at[i], 100);
		}
	stage_end();
	CHECK_EQ(stage_row("cupti", "d2h", "staged", "count") +
			 stage_row("cupti", "d2h", "pinned", "count") / 2,
		 COPIES);
	/* All that the library remembers. */
	CHECK_EQ(stage_row("cupti", "d2h", "staged", "count"), REWRITTEN_MOST);
}

/* Makes a copy at `at` that returns after 2 us and is on the device until `end`. */
static void deferred_copy(uint64_t bytes, uint64_t at, uint64_t end)
{
	static uint32_t number;

	trace_copied(&(struct trace_copy){ .direction = TRACE_H2D,
					   .synchronous = true,
					   .deferred = true,
					   .bytes = bytes,
					   .enter_ns = stage_base + at,
					   .leave_ns = stage_base + at + 2 * MICRO });
	called(++number, at + MICRO);
	device_copy(CUPTI_H2D, CUPTI_PAGEABLE, CUPTI_DEVICE, bytes, end - MICRO, MICRO);
	mock_cupti.correlation = 0;
}

/* Makes thousands at once, with other copies in between, some without a record. */
static void many_that_return_early(uint64_t count, bool often_read)
{
	stage_begin(true, summary);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t at = SECOND + i * 100 * MICRO, bytes = 1 + i % 3;

		if (i % 50 == 0)
			trace_copied(&(struct trace_copy){ .deferred = true,
							   .bytes = 9,
							   .enter_ns = stage_base + at,
							   .leave_ns = stage_base + at });
		device_copy(CUPTI_H2D, CUPTI_PAGEABLE, CUPTI_DEVICE, 100 + bytes, at, MICRO);
		deferred_copy(bytes, at + 10 * MICRO, at + 62 * MICRO);
		if (often_read && i % 1000 == 999)
			mock_read();
	}
	stage_end();
	CHECK_EQ(stage_number("effect", "deferred_copies"), count);
	CHECK_EQ(stage_number("effect", "ahead_ns"), count * 50 * MICRO);
	CHECK_EQ(split_sum(), 10 * SECOND);
}

TEST_AFTER(calls_of_copies_and_launches_are_recorded, stage_begin(true, summary))
{
	CHECK_EQ(mock_cupti.calls_enabled, 30 + 12);
	stage_end();
	CHECK_EQ(mock_cupti.calls_enabled, 0);
}

/* Another client of CUPTI numbers threads in its own way. */
TEST(calls_of_threads_with_other_numbers)
{
	mock_cupti.thread_type = 1;
	stage_begin(true, summary);
	CHECK_EQ(mock_cupti.calls_enabled, 0);
	stage_end();
}

CASE(many_copies_that_return_early, many_that_return_early(40000, true))
/* Their records arrive with CUPTI's next buffer. */
CASE(many_copies_that_returned_early, many_that_return_early(12000, false))

/* More than the library remembers: a forgotten one is not mistaken for another. */
TEST_AFTER(too_many_copies_that_return_early, stage_begin(true, summary))
{
	for (uint64_t i = 0; i < 40000; i++)
		trace_copied(
			&(struct trace_copy){ .direction = TRACE_H2D,
					      .synchronous = true,
					      .deferred = true,
					      .bytes = 7,
					      .enter_ns = stage_base + SECOND + i * 100 * MICRO,
					      .leave_ns = stage_base + SECOND + i * 100 * MICRO });
	for (uint64_t i = 0; i < 40000; i++) {
		called((uint32_t)i + 1, SECOND + i * 100 * MICRO);
		device_copy(CUPTI_H2D, CUPTI_PAGEABLE, CUPTI_DEVICE, 7, SECOND + i * 100 * MICRO,
			    50 * MICRO);
	}
	stage_end();
	CHECK_EQ(stage_number("effect", "ahead_ns"), REWRITTEN_MOST * 50 * MICRO);
}

static void copied_from(const void *host, uint64_t bytes)
{
	trace_copied(&(struct trace_copy){ .direction = TRACE_H2D,
					   .bytes = bytes,
					   .enter_ns = stage_base,
					   .leave_ns = stage_base + MICRO,
					   .linear = true,
					   .device = 4096,
					   .host = host,
					   .frame = __builtin_frame_address(0) });
}

/*
 * The clock advances by 100 ns at each look: so long a timed call takes, or longer if a thread of
 * the library looks, too.
 */
static long long noting_takes(const char *option, uint64_t bytes, void (*call)(int i))
{
	static uint64_t memory[16384];

	stage_begin(true, (const char *const[]){ "HOTPIN_PROFILE=summary", option, NULL });
	stage_tick_ns = 100;
	for (int i = 0; i < 1700; i++)
		if (call != NULL)
			call(i);
		else
			copied_from(memory, bytes);
	stage_tick_ns = 0;
	stage_end();
	long long ns = stage_number("overhead", "appends_ns");
	printf("# %lld ns\n", ns);
	return ns;
}

/* One in seventeen is timed; each 64th is checked, and timed separately. */
static void costs_as_timed(const char *option, void (*call)(int i))
{
	long long ns = noting_takes(option, 8, call);

	CHECK(ns >= 170000 && ns <= 210000);
}

static void wait_once(int i)
{
	(void)i;
	stage_waited(0, MICRO);
}

static void launch(int i)
{
	trace_launched(i % 2 == 0 ? TRACE_LAUNCH_GRAPH : TRACE_LAUNCH_KERNEL);
}

CASE(what_noting_costs, costs_as_timed(NULL, NULL))
CASE(what_noting_costs_of_waits, costs_as_timed("HOTPIN_PROFILE=trace", wait_once))
CASE(what_noting_costs_of_launches, costs_as_timed(NULL, launch))

/*
 * The cost of the end is the time up to the number itself: the records of the last flush, and the
 * table and the lists of the file before the number, in which nothing looks at the clock.
 */
TEST(what_the_end_costs)
{
	stage_begin(true, (const char *const[]){ "HOTPIN_PROFILE=summary", NULL });
	stage_tick_ns = MILLI;
	stage_end();
	stage_tick_ns = 0;
	CHECK(stage_number("overhead", "exit_ns") >= (long long)(2 * MILLI));
}

TEST(a_program_goes_on_after_the_profile)
{
	stage_begin(true, (const char *const[]){ "HOTPIN_PROFILE=summary", NULL });
	trace_stop();
	stage_pass(SECOND);
	stage_end();
	CHECK_EQ(stage_number("overhead", "exit_ns"), 0);
}

/*
 * Hashed copies are always timed, because they differ in length: 100 ns here.  The rest of the
 * bookkeeping counts as without hashing: 200 ns here, which includes two more looks.
 */
TEST(what_noting_costs_with_a_hash)
{
	long long ns = noting_takes("HOTPIN_HASH=1", sizeof(uint64_t) * 16384, NULL);

	CHECK(ns >= 170000 + 340000 && ns <= 600000);
}

/* For loops of any length, each of their calls is timed equally often. */
TEST(what_is_timed_of_loops)
{
	for (unsigned period = 1; period <= 16; period++) {
		unsigned timed[16] = { 0 };

		for (unsigned i = 0; i < 17 * period; i++)
			timed[i % period] += operations_sample_begins() != 0;
		for (unsigned i = 0; i < period; i++)
			CHECK_EQ(timed[i], 1);
	}
}

/*
 * The latest parts of a capture range are known; a time in an older one is taken for outside.  The
 * scripts capture_* show the rest.
 */
TEST(more_parts_than_are_kept)
{
	stage_begin(true, (const char *const[]){ "HOTPIN_CAPTURE=nvtx:step", NULL });
	CHECK(!capture_range_holds(stage_base));
	for (unsigned i = 0; i < CAPTURE_RANGE_PARTS + 3; i++) {
		capture_range_begins(stage_base + 10 * i);
		capture_range_ends(stage_base + 10 * i + 5);
	}
	CHECK(!capture_range_holds(stage_base + 24));
	CHECK(capture_range_holds(stage_base + 30));
	CHECK(capture_range_holds(stage_base + 34));
	CHECK(!capture_range_holds(stage_base + 35));
	uint64_t last = stage_base + 10 * (CAPTURE_RANGE_PARTS + 2);
	CHECK(capture_range_holds(last) && !capture_range_holds(last + 5));
	stage_end();
}

CHECK_MAIN()
