/*
 * validity.c - decides which parts of a report are reliable, and which warnings a reader needs.
 */
#include "trace/out/validity.h"
#include "base/counters.h"
#include "base/options.h"
#include "trace/calls/capture_range.h"
#include "trace/calls/gaps.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/correlation.h"
#include "trace/collect/events.h"
#include "trace/places/sites.h"
#include "trace/python/interpreter.h"

#include <stdarg.h>
#include <stdio.h>

/* The largest share of records that may be missing from a split that is shown: one in so many. */
#define LOSS_ONE_IN 100

enum note_kind {
	NOTE_WARNS,
	NOTE_DENIES_SPLIT, /* why the wall time cannot be split: the first such note is shown */
};

__attribute__((format(printf, 3, 4))) static void note(struct report *report, enum note_kind kind,
						       const char *format, ...)
{
	char text[REPORT_WARNING_ROOM];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (report->warnings < REPORT_WARNINGS_MOST)
		snprintf(report->warning[report->warnings++], REPORT_WARNING_ROOM, "%s", text);
	if (kind != NOTE_DENIES_SPLIT)
		return;
	report->aligned = false;
	if (report->split_why[0] == '\0')
		snprintf(report->split_why, sizeof(report->split_why), "%s", text);
}

/* Adds a warning "WHERE: COUNT TEXT", unless the count is 0. */
static void tell(struct report *report, const char *where, uint64_t count, const char *text)
{
	if (count > 0)
		note(report, NOTE_WARNS, "%s%llu %s", where, (unsigned long long)count, text);
}

/* Returns the fastest rate of a direction, of single copies and of the rows of the report. */
static uint64_t fastest_of(const struct aggregate *device, int direction)
{
	uint64_t fastest = device->fastest[direction];

	for (int memory = TRACE_PAGEABLE; memory <= TRACE_PINNED; memory++) {
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
 * The peak is the rate of the link.  If that is unknown, or the run was faster, so that it is
 * wrong, the peak is the best rate of the run, in a direction that has large copies.
 */
static void look_at_peak(struct report *report)
{
	const struct aggregate *device = report->collected.device;
	const uint64_t link = report->link_bytes_per_s;

	report->peak[TRACE_H2D] = report->peak[TRACE_D2H] = link;
	if (!report->device)
		return;
	uint64_t fastest[] = { [TRACE_H2D] = fastest_of(device, TRACE_H2D),
			       [TRACE_D2H] = fastest_of(device, TRACE_D2H) };
	report->peak_observed = fastest[TRACE_H2D] > link || fastest[TRACE_D2H] > link;
	if (!report->peak_observed)
		return;
	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++)
		report->peak[direction] = device->fastest[direction] != 0 ? fastest[direction] : 0;
}

static bool is_too_much(uint64_t lost, uint64_t all)
{
	return lost > all / LOSS_ONE_IN;
}

/*
 * True if too many bytes are missing.  Asynchronous copies may be in flight at the end, but not a
 * tenth of the bytes.  If CUPTI has lost records, the limit is the share that a split may lack.
 */
static bool is_partial(const struct profile_coverage *bus, bool lossy)
{
	return bus->hotpin_bytes - bus->cupti_bytes >
	       bus->hotpin_bytes / (lossy ? LOSS_ONE_IN : 10);
}

/* Missing records, by comparison with the calls that went through the shim. */
struct missing {
	uint64_t copies, kernels;     /* the numbers without a record */
	uint64_t must_show, must_run; /* the numbers that should have records */
	bool ceased;                  /* records stopped during the run */
	bool partial;                 /* bytes are missing */
};

static struct missing look_for_missing(const struct report *report, const struct aggregate *device,
				       const struct profile_coverage *bus, bool lossy)
{
	const struct operations *operations = &report->operations;
	uint64_t left = report->collected.must_show_left;
	/* Kernels of graphs also have records, so more records may be missing than this shows. */
	uint64_t ran = device->kernel_runs.count + device->outside_kernels + device->incomplete;
	struct missing missing = {
		.must_show = operations->must_show + operations->outside_must_show,
		.must_run = operations->kernels - operations->kernels_in_graphs +
			    operations->outside_kernels,
	};

	/* While the program runs, more records will arrive. */
	if (!report->ended)
		return missing;
	if (missing.must_show > (uint64_t)bus->cupti_copies)
		missing.copies = missing.must_show - (uint64_t)bus->cupti_copies;
	if (missing.must_run > ran)
		missing.kernels = missing.must_run - ran;
	missing.ceased = !lossy && left > 0 && (left > 8 || missing.copies > 0);
	missing.partial = is_partial(bus, lossy);
	return missing;
}

/* True if the run made copies or launched kernels, and there is no record at all. */
static bool has_nothing(const struct aggregate *device, const struct missing *missing)
{
	return device->records == 0 &&
	       (missing->ceased || missing->partial || missing->copies > 0 || missing->kernels > 0);
}

/* Adds a note if `missing` of `all` have no record. */
static void tell_missing(struct report *report, uint64_t missing, uint64_t all, const char *what)
{
	if (is_too_much(missing, all))
		note(report, NOTE_DENIES_SPLIT,
		     "CUPTI recorded %llu of %llu %s: no split of the wall time",
		     (unsigned long long)(all - missing), (unsigned long long)all, what);
	else if (missing > 0)
		note(report, NOTE_WARNS,
		     "CUPTI recorded %llu %s fewer than there were: device figures are too low",
		     (unsigned long long)missing, what);
}

static void check_missing(struct report *report, const struct aggregate *device, bool lossy)
{
	struct profile_coverage bus;
	struct profile_promotion pinned;

	/* The whole run: work that a call of the range enqueues may begin after the range. */
	report_bus_read(report, &bus, &pinned);
	bus.hotpin_copies += report->operations.outside_copies;
	bus.hotpin_bytes += report->operations.outside_bytes;
	bus.cupti_copies += device->outside_copies;
	bus.cupti_bytes += device->outside_bytes;
	struct missing missing = look_for_missing(report, device, &bus, lossy);
	if (!lossy && has_nothing(device, &missing)) {
		report->device = false;
		report->why_not = "CUPTI was taken by another tool";
		note(report, NOTE_DENIES_SPLIT, "CUPTI recorded nothing: taken by another tool");
		return;
	}
	if (missing.ceased) {
		uint64_t at_ms = (device->latest_ns - report->began_ns) / 1000000;

		note(report, NOTE_DENIES_SPLIT,
		     "CUPTI was taken by another tool at %llu.%03llu s: device figures end there",
		     (unsigned long long)at_ms / 1000, (unsigned long long)at_ms % 1000);
	} else if (missing.partial) {
		note(report, NOTE_DENIES_SPLIT,
		     "CUPTI recorded %llu of %llu copies: it was taken by another tool, or the "
		     "program ended before they completed",
		     (unsigned long long)bus.cupti_copies, (unsigned long long)bus.hotpin_copies);
	} else {
		tell_missing(report, missing.copies, missing.must_show, "copies");
	}
	tell_missing(report, missing.kernels, missing.must_run, "launched kernels");
}

/*
 * Checks the losses that CUPTI reports, and the records missing in comparison with our own counts.
 */
static void check_records(struct report *report, const struct aggregate *device)
{
	const struct collect_result *got = &report->collected;
	bool lossy = got->dropped > 0 || got->buffers.discarded > 0 || got->flush_hung;
	/* An upper bound: no reader has read the discarded buffers. */
	uint64_t lost = got->dropped + got->buffers.discarded * CUPTI_BUFFERS_DISCARD_RECORDS;

	bool too_much = is_too_much(lost, device->records + lost) || got->flush_hung;

	if (lossy)
		note(report, too_much ? NOTE_DENIES_SPLIT : NOTE_WARNS,
		     "CUPTI lost records (%llu dropped, %llu buffers): device figures are too low%s",
		     (unsigned long long)got->dropped, (unsigned long long)got->buffers.discarded,
		     too_much ? ", no split of the wall time" : "");
	check_missing(report, device, lossy);
}

/* Adds notes on counts that readers could misunderstand. */
static void tell_of_counts(struct report *report, const struct aggregate *device)
{
	const struct operations *operations = &report->operations;
	uint64_t staged = operations->copies[TRACE_H2D][TRACE_STAGED].count +
			  operations->copies[TRACE_D2H][TRACE_STAGED].count;
	int devices = __builtin_popcountll(device->device_mask);

	tell(report, "", device->incomplete, "operations had not completed and are not counted");
	tell(report, "", device->untimed, "records have no times");
	tell(report, "", device->kernels_unnamed, "kernel runs are summed up as (others)");
	if (!correlation_is_known())
		tell(report, "", staged,
		     "staged copies count as several of pinned memory: CUPTI does not tell calls");
	if (devices > 1)
		note(report, NOTE_WARNS,
		     "%d devices: the split counts a moment as busy when any of them is", devices);
	if (report->split.late_ns > report->split.wall_ns / 100)
		note(report, NOTE_WARNS, "some records came too late: the split is approximate");
}

static void tell_of_range(struct report *report)
{
	uint64_t count = capture_range_count();
	const char *range = hp_options->capture;

	if (capture_range_is_all())
		return;
	report->nothing_in_range = count == 0;
	if (count == 0)
		note(report, NOTE_WARNS,
		     "the capture range %.100s never began, so nothing was captured", range);
	else
		note(report, NOTE_WARNS,
		     "these figures are of the capture range %.100s alone, which began %llu %s",
		     range, (unsigned long long)count, count > 1 ? "times" : "time");
}

static void tell_of_ranges(struct report *report)
{
	tell(report, "ranges: ", nvtx_ranges_lost(),
	     "changes are missing, so times of ranges are wrong");
	tell(report, "", hp_count_read(ranges_dropped),
	     "NVTX ranges are in no sum: too many were open at once");
}

/* Adds notes on tables that were full. */
static void tell_of_tables(struct report *report)
{
	struct sites_counts sites = { 0 };
	struct gaps_counts gaps = { 0 };

	if (report->calls) {
		sites_count(&sites);
		gaps_count(&gaps);
	}
	tell(report, "call sites: ", sites.folded, "copies of rare call stacks are summed up");
	tell(report, "host code: ", gaps.dropped.count,
	     "gaps between rare pairs of calls are added up without places");
	tell(report, "timeline: ", events_trackless(),
	     "events are left out: too many threads or streams");
}

/*
 * Decides if times of the device are reliable: CUPTI ran until the end, and its clock matches ours.
 */
static void check_device(struct report *report)
{
	const struct collect_result *got = &report->collected;
	const struct aggregate *device = got->device;

	report->truncated = got->flush_hung || device == NULL;
	report->device = report->why_not[0] == '\0' && device != NULL;
	report->aligned = true;
	tell_of_range(report);
	if (report->why_not[0] != '\0')
		note(report, NOTE_DENIES_SPLIT, "no device times: %s", report->why_not);
	if (got->flush_hung)
		note(report, NOTE_WARNS, "truncated: CUPTI did not deliver its records within 5 s");
	if (device == NULL)
		note(report, NOTE_DENIES_SPLIT,
		     "truncated: hotpin's thread did not end within 5 s");
	if (report->device)
		check_records(report, device);
	if (report->device && !aggregate_is_alignable(device))
		note(report, NOTE_DENIES_SPLIT,
		     "CUPTI's clock does not match the host's: no split of the wall time");
	tell(report, "", report->operations.spans_lost, "host calls are missing from the split");
	tell_of_ranges(report);
	if (interpreter_is_unreadable())
		note(report, NOTE_WARNS,
		     "no Python lines: they need CPython 3.11 to 3.14, and this is another version");
	tell_of_tables(report);
	if (report->device)
		tell_of_counts(report, device);
}

void validity_check(struct report *report)
{
	report->split_why[0] = '\0';
	if (report->no_device) {
		report->device = report->aligned = true;
		tell_of_range(report);
		tell_of_ranges(report);
		return;
	}
	check_device(report);
	look_at_peak(report);
}
