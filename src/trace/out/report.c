/*
 * report.c - names and figures that both writers use.
 */
#include "trace/out/report.h"
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
