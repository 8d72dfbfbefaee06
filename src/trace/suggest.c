/*
 * suggest.c - computes bounds of possible savings from the run's own figures.
 */
#include "trace/suggest.h"
#include "base/options.h"
#include "trace/call_class.h"
#include "trace/calls.h"
#include "trace/gaps.h"
#include "trace/host_buffers.h"

#define CALLS_LEAST 16 /* calls of a function that belongs outside of a loop */
#define GAPS_LEAST  2  /* so often, host code counts as a loop */

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_worth(const struct report *report, uint64_t ns)
{
	return (__uint128_t)ns * 100 >= report->split.wall_ns && ns > 0;
}

/* Inserts a suggestion by falling saving.  The one that saves least drops out of a full list. */
static void add(const struct report *report, struct suggestion *list, size_t *count,
		const struct suggestion *one)
{
	size_t at = *count;

	if (!is_worth(report, one->saves_ns))
		return;
	while (at > 0 && list[at - 1].saves_ns < one->saves_ns)
		at--;
	if (at == SUGGEST_MOST)
		return;
	if (*count < SUGGEST_MOST)
		(*count)++;
	for (size_t i = *count - 1; i > at; i--)
		list[i] = list[i - 1];
	list[at] = *one;
}

static bool has_pageable(const struct report *report)
{
	return report->collected.device->copies[TRACE_H2D][AGGREGATE_PAGEABLE].count +
		       report->collected.device->copies[TRACE_D2H][AGGREGATE_PAGEABLE].count >
	       0;
}

/* Returns the time in copies of data that was downloaded and uploaded again. */
static uint64_t round_trips_ns(const struct report *report)
{
	uint64_t ns = 0;

	for (size_t i = 0; report->buffers && i < host_buffers_count(); i++) {
		struct host_buffer buffer;

		host_buffers_read(i, &buffer);
		ns += buffer.round_trips.copy_ns + buffer.follows.copy_ns;
	}
	return ns;
}

/* Returns the time of allocations and frees, without the longest call of each function. */
static uint64_t allocations_ns(void)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < calls_functions(); i++) {
		enum call_class class = call_class_of(calls_name(i));
		struct calls_sum sum;

		if (class != CALL_ALLOCATE && class != CALL_FREE)
			continue;
		calls_read(i, &sum);
		if (sum.count >= CALLS_LEAST)
			ns += sum.total_ns - sum.longest_ns;
	}
	return ns;
}

/* Returns the time of host code that runs repeatedly between two calls. */
static uint64_t host_code_ns(const struct report *report)
{
	struct gaps_counts counts = { 0 };
	uint64_t ns = 0;

	if (report->gaps)
		gaps_count(&counts);
	for (size_t i = 0; i < counts.gaps; i++) {
		struct gap gap;

		gaps_read(i, &gap);
		if (gap.before.function != GAPS_NO_CALL && gap.after.function != GAPS_NO_CALL &&
		    gap.sum.count >= GAPS_LEAST)
			ns += gap.sum.total_ns;
	}
	return ns;
}

size_t suggest(const struct report *report, struct suggestion ret[SUGGEST_MOST])
{
	struct whatif_facts facts;
	uint64_t ns, all_copies = 0;
	size_t count = 0;

	/* A program that failed must be fixed first. */
	if (!report->aligned || report->no_device || report->exit_status > 0)
		return 0;
	report_whatif(report, &facts);
	if (whatif_saves_ns(&facts, WHATIF_NO_TRANSFERS, &all_copies))
		add(report, ret, &count,
		    &(struct suggestion){ .what = "Keep data on the device",
					  .saves_ns = least(round_trips_ns(report), all_copies) });
	if (has_pageable(report) && whatif_saves_ns(&facts, WHATIF_PINNED, &ns))
		add(report, ret, &count,
		    &(struct suggestion){ .what = "Pin the host memory of copies",
					  .saves_ns = ns,
					  .hotpin_does_it = !hp_options->pin });
	if (whatif_saves_ns(&facts, WHATIF_OVERLAPPED, &ns))
		add(report, ret, &count,
		    &(struct suggestion){ .what = "Overlap copies and kernels", .saves_ns = ns });
	add(report, ret, &count,
	    &(struct suggestion){ .what = "Port host code in loops",
				  .saves_ns = least(host_code_ns(report), report->split.host_ns) });
	add(report, ret, &count,
	    &(struct suggestion){ .what = "Allocate once, not in every step",
				  .saves_ns = least(allocations_ns(), report->split.calls_ns) });
	return count;
}
