/*
 * judge.c - what of a report can be believed, and what its reader must know.
 */
#include "trace/report.h"
#include "base/counters.h"
#include "trace/stages.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 2, 3))) static void note(struct report *report, const char *format,
						       ...)
{
	va_list args;

	if (report->warnings == REPORT_WARNINGS_MOST)
		return;
	va_start(args, format);
	vsnprintf(report->warning[report->warnings++], sizeof(report->warning[0]), format, args);
	va_end(args);
}

/* Of the rows that are held against the peak, as they are shown: copies in pieces, too. */
static uint64_t fastest_row(const struct aggregate *device, int direction)
{
	uint64_t fastest = 0;

	for (int memory = AGGREGATE_PAGEABLE; memory <= AGGREGATE_PINNED; memory++) {
		const struct aggregate_sum *row = &device->copies[direction][memory];
		uint64_t bytes = row->bytes - row->untimed_bytes;

		if (row->busy_ns == 0)
			continue;
		uint64_t rate = (uint64_t)((__uint128_t)bytes * 1000000000 / row->busy_ns);
		fastest = rate > fastest ? rate : fastest;
	}
	return fastest;
}

/*
 * Without a measured peak, the run's own fastest copies are the next best; and none is faster than
 * the peak, which was measured by a few copies only.
 */
static void look_at_peak(struct report *report)
{
	const struct aggregate *device = report->collected.device;

	if (!report->device)
		return;
	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++) {
		uint64_t fastest = device->fastest[direction];

		if (report->peak[direction] == 0) {
			report->peak_observed[direction] = fastest != 0;
			report->peak[direction] = fastest;
			continue;
		}
		uint64_t row = fastest_row(device, direction);
		fastest = row > fastest ? row : fastest;
		if (fastest > report->peak[direction])
			report->peak[direction] = fastest;
	}
}

/* Who only copies asynchronously: some may be under way at the end, but not a tenth. */
static bool is_partial(const struct report_bus *bus)
{
	return bus->their_bytes < bus->our_bytes - bus->our_bytes / 10;
}

/* What CUPTI lost or was lost to others: records that should be there. */
static void judge_records(struct report *report, const struct aggregate *device)
{
	const struct collect_result *got = &report->collected;
	uint64_t must_show = report->calls.must_show;
	struct report_bus bus;

	report_bus_read(report, &bus);
	bool lossy = got->dropped > 0 || got->buffers.discarded > 0 || got->flush_hung;
	bool all_there = report->ended && !lossy;
	bool lost = all_there && got->must_show_left > 0 &&
		    (got->must_show_left > 8 || must_show > bus.their_count);
	bool partial = all_there && !lost && is_partial(&bus);

	if ((lost || partial) && device->records == 0) {
		note(report, "CUPTI recorded nothing: lost to another client");
		report->device = report->aligned = false;
		report->why_not = "CUPTI was lost to another client";
	} else if (lost) {
		uint64_t at_ms = (device->latest_ns - report->began_ns) / 1000000;

		note(report,
		     "CUPTI lost to another client at %llu.%03llu s: device figures end there",
		     (unsigned long long)at_ms / 1000, (unsigned long long)at_ms % 1000);
		report->aligned = false;
	} else if (partial) {
		note(report,
		     "CUPTI recorded %llu of %llu copies: it was lost to another client, or they "
		     "were not waited for",
		     (unsigned long long)bus.their_count, (unsigned long long)bus.our_count);
		report->aligned = false;
	} else if (all_there && must_show > bus.their_count) {
		note(report,
		     "CUPTI recorded %llu copies fewer than were made: device figures are too low",
		     (unsigned long long)(must_show - bus.their_count));
	}
	if (lossy)
		note(report,
		     "CUPTI lost records (%llu dropped, %llu buffers): device figures are too low",
		     (unsigned long long)got->dropped, (unsigned long long)got->buffers.discarded);
}

/* What is counted or shown, but not as one would think. */
static void tell_of_counts(struct report *report, const struct aggregate *device)
{
	int devices = __builtin_popcountll(device->device_mask);

	if (device->incomplete > 0)
		note(report, "%llu operations had not ended and are not counted",
		     (unsigned long long)device->incomplete);
	if (device->untimed > 0)
		note(report, "%llu records came without times",
		     (unsigned long long)device->untimed);
	if (device->kernels_unnamed > 0)
		note(report, "%llu kernel runs are summed up as (others)",
		     (unsigned long long)device->kernels_unnamed);
	if (devices > 1)
		note(report, "%d devices: the split counts a moment as busy when any of them is",
		     devices);
	if (report->split.late_ns > report->split.wall_ns / 100)
		note(report, "records came too late for the split: it is approximate");
}

static void tell_of_stages(struct report *report)
{
	uint64_t changes_lost, dropped = hp_count_read(ranges_dropped);

	stages_count(&changes_lost);
	if (changes_lost > 0)
		note(report, "%llu changes of stage were too many: times of stages are wrong",
		     (unsigned long long)changes_lost);
	if (dropped > 0)
		note(report, "%llu NVTX ranges are in no stage: too many were open at once",
		     (unsigned long long)dropped);
}

/* Times of the device are believed where CUPTI ran, kept running, and its clock matches ours. */
static void judge_device(struct report *report)
{
	const struct collect_result *got = &report->collected;
	const struct aggregate *device = got->device;

	report->truncated = got->flush_hung || device == NULL;
	if (report->why_not[0] != '\0')
		note(report, "no device times: %s", report->why_not);
	if (got->flush_hung)
		note(report, "truncated: CUPTI did not hand over its records within 5 s");
	if (device == NULL)
		note(report, "truncated: our own thread did not end within 5 s");
	if (report->calls.spans_lost > 0)
		note(report, "%llu host calls are counted but missing from the split",
		     (unsigned long long)report->calls.spans_lost);
	tell_of_stages(report);
	report->device = report->why_not[0] == '\0' && device != NULL;
	report->aligned = report->device;
	if (!report->device)
		return;
	judge_records(report, device);
	if (!aggregate_is_alignable(device)) {
		note(report, "CUPTI's clock does not match ours: no split of the wall time");
		report->aligned = false;
	}
	tell_of_counts(report, device);
}

void report_judge(struct report *report)
{
	if (report->no_device) {
		report->device = report->aligned = true;
		tell_of_stages(report);
		return;
	}
	judge_device(report);
	look_at_peak(report);
}
