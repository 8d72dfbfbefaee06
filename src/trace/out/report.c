/*
 * report.c - names and figures that the emitters use, and how short the run could have been.
 *
 * The bounds subtract from the wall time what each change can save at most.  Faster transfers can
 * save only time in which a transfer ran without a kernel.  Overlap can save only time in which
 * either of them ran alone.  Uploads and downloads can overlap each other, too.
 */
#include "trace/out/report.h"
#include "base/bounds.h"
#include "trace/collect/correlation.h"
#include "trace/out/json.h"

const char *const report_directions[AGGREGATE_DIRECTIONS] = {
	[TRACE_H2D] = "h2d", [TRACE_D2H] = "d2h", [TRACE_D2D] = "d2d",
	[TRACE_H2H] = "h2h", [TRACE_P2P] = "p2p", [TRACE_DIRECTIONS] = "unknown",
};

const char *const report_memories[TRACE_MEMORIES] = {
	[TRACE_PAGEABLE] = "pageable", [TRACE_PROMOTED] = "promoted", [TRACE_STAGED] = "staged",
	[TRACE_PINNED] = "pinned",     [TRACE_DEVICE] = "device",     [TRACE_UNKNOWN] = "unknown",
	[TRACE_ARRAY] = "array",       [TRACE_MANAGED] = "managed",
};

struct profile_split report_split(const struct report *report, const struct split_sum *split)
{
	struct profile_split unknown;

	profile_forget(profile_split_id, &unknown);
	return report->aligned ? split->parts : unknown;
}

int64_t report_ahead_ns(const struct report *report)
{
	bool known = correlation_is_known() || report->operations.deferred == 0;

	return json_known(report->aligned && known, report->split.ahead_ns);
}

void report_bus_read(const struct report *report, struct profile_coverage *ret,
		     struct profile_promotion *ret_pinned)
{
	int64_t none = report->device ? 0 : UNKNOWN;
	bool is_unknown = false; /* for some memory, hotpin did not check for a pin */

	*ret = (struct profile_coverage){ .cupti_copies = none, .cupti_bytes = none };
	*ret_pinned = (struct profile_promotion){ .cupti_pinned_bytes = none };
	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++) {
		const struct trace_sum *ours = report->operations.copies[direction];

		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			ret->hotpin_copies += ours[memory].count;
			ret->hotpin_bytes += ours[memory].bytes;
		}
		ret_pinned->promoted_bytes += ours[TRACE_PROMOTED].bytes;
		ret_pinned->program_pinned_bytes += ours[TRACE_PINNED].bytes;
		is_unknown |= ours[TRACE_UNKNOWN].count > 0;
		if (!report->device)
			continue;
		const struct aggregate_sum *theirs = report->collected.device->copies[direction];
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			ret->cupti_copies += theirs[memory].count;
			ret->cupti_bytes += theirs[memory].bytes;
		}
		ret_pinned->cupti_pinned_bytes += theirs[TRACE_PINNED].bytes;
	}
	if (is_unknown)
		ret_pinned->program_pinned_bytes = UNKNOWN;
}

static uint64_t largest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Returns the bytes of pageable copies whose times are known. */
static uint64_t pageable_bytes(const struct report *report, int direction)
{
	const struct aggregate_sum *sum =
		&report->collected.device->copies[direction][TRACE_PAGEABLE];

	return sum->bytes - sum->untimed_bytes;
}

int64_t report_excess_ns(const struct report *report)
{
	uint64_t excess = 0;

	for (int direction = TRACE_H2D; direction <= TRACE_D2H && report->aligned; direction++) {
		uint64_t bytes = pageable_bytes(report, direction), peak = report->peak[direction];

		if (bytes == 0)
			continue;
		if (peak == 0)
			return UNKNOWN;
		uint64_t best = (uint64_t)((__uint128_t)bytes * 1000000000 / peak);
		uint64_t busy_ns =
			report->collected.device->copies[direction][TRACE_PAGEABLE].busy_ns;
		if (busy_ns > best)
			excess += busy_ns - best;
	}
	return json_known(report->aligned, excess);
}

/*
 * Returns the time in calls that may have copied pageable memory.  The device's records of such
 * copies begin when the driver has staged the first bytes.  The time before is overhead of the
 * call, which pinning also saves.
 */
static uint64_t pageable_calls_ns(const struct report *report)
{
	uint64_t ns = 0;

	for (int direction = TRACE_H2D; direction <= TRACE_D2H; direction++) {
		const struct trace_sum *sums = report->operations.copies[direction];

		if (pageable_bytes(report, direction) > 0)
			ns += sums[TRACE_PAGEABLE].sync_ns + sums[TRACE_UNKNOWN].sync_ns;
	}
	return ns;
}

static uint64_t busy_ns(const struct report *report, int direction)
{
	uint64_t ns = 0;

	for (int memory = 0; memory < TRACE_MEMORIES; memory++)
		ns += report->collected.device->copies[direction][memory].busy_ns;
	return ns;
}

/*
 * Returns the saving if uploads, downloads and kernels overlap fully: only the longest of them
 * remains.  Inexact for copies that overlap each other.
 */
static uint64_t overlapped_ns(const struct report *report)
{
	const struct split_sum *split = &report->split;
	uint64_t up = busy_ns(report, TRACE_H2D), down = busy_ns(report, TRACE_D2H);
	uint64_t longer =
		hp_least(largest(up, down), split->parts.transfer_ns + split->parts.overlap_ns);
	uint64_t kernels = split->parts.kernel_ns + split->parts.overlap_ns;

	if (longer == 0)
		return hp_least(split->parts.transfer_ns, split->parts.kernel_ns);
	return split->parts.transfer_ns + kernels - largest(kernels, longer);
}

static struct profile_bound bound_of(const struct report *report, const char *name, bool known,
				     uint64_t saves_ns, const char *assumes)
{
	return (struct profile_bound){
		.name = name,
		.wall_ns = json_known(known, report->split.wall_ns - saves_ns),
		.saves_ns = json_known(known, saves_ns),
		.assumes = assumes,
	};
}

void report_bounds(const struct report *report, struct profile_bound ret[REPORT_BOUNDS])
{
	const struct split_sum *split = &report->split;
	int64_t excess_ns = report_excess_ns(report);
	bool known = report->aligned, peak_known = excess_ns != UNKNOWN;
	uint64_t pinned = peak_known ? hp_least((uint64_t)excess_ns, split->parts.transfer_ns) : 0;
	uint64_t staging = known ? hp_least(pageable_calls_ns(report), split->call_overhead_ns) : 0;

	ret[0] = bound_of(report, "all_pinned", peak_known, pinned + staging,
			  "every copy of pageable memory runs at the link's peak, its call does "
			  "nothing else, and pinning costs nothing");
	ret[1] = bound_of(report, "all_overlapped", known, known ? overlapped_ns(report) : 0,
			  "transfers in one direction, in the other, and kernels never wait for "
			  "each other");
	ret[2] = bound_of(report, "no_transfers", known,
			  split->parts.transfer_ns + split->call_overhead_ns,
			  "data stays on the device, and no call copies any");
}
