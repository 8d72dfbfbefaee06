/*
 * emit_lists.c - an entry of each list, filled in when it is written.
 *
 * One thread at a time writes a profile, so entries are static.
 */
#include "trace/out/emit_lists.h"
#include "trace/calls/calls.h"
#include "trace/calls/gaps.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/launch_times.h"
#include "trace/calls/launches.h"
#include "trace/calls/repeats.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/out/emit_places.h"
#include "trace/out/report.h"
#include "trace/places/sites.h"

#include <string.h>

#define DEVICE_TRANSFERS ((size_t)AGGREGATE_DIRECTIONS * AGGREGATE_MEMORIES)
#define HOST_TRANSFERS   ((size_t)TRACE_DIRECTIONS * TRACE_MEMORIES)

static size_t count_transfers(const struct report *report)
{
	(void)report;
	return DEVICE_TRANSFERS + HOST_TRANSFERS;
}

/* Adds the sizes; NULL: there are no such copies. */
static const void *with_sizes(struct profile_transfer *row, const struct sizes *sizes)
{
	static struct profile_size rooms[SIZES_BINS];

	row->sizes = rooms;
	for (unsigned bin = 0; bin < SIZES_BINS; bin++)
		if (sizes->bin[bin].count > 0)
			rooms[row->size_count++] = (struct profile_size){
				.from_bytes = sizes_from(bin),
				.count = sizes->bin[bin].count,
				.bytes = sizes->bin[bin].bytes,
				.busy_ns = sizes->bin[bin].ns,
			};
	return row->count > 0 ? row : NULL;
}

static const void *device_transfer(const struct aggregate *device, size_t direction, size_t memory)
{
	static struct profile_transfer row;
	const struct aggregate_sum *sum = &device->copies[direction][memory];

	row = (struct profile_transfer){
		.view = "cupti",
		.direction = report_directions[direction],
		.memory = report_device_memories[memory],
		.count = sum->count,
		.bytes = sum->bytes,
		.busy_ns = json_known(sum->busy_ns != 0, sum->busy_ns),
		.untimed_bytes = sum->untimed_bytes,
		.pieces =
			memory == AGGREGATE_STAGED ? (int64_t)device->pieces[direction] : LEFT_OUT,
		.host_ns = LEFT_OUT,
		.sync_count = LEFT_OUT,
		.sync_bytes = LEFT_OUT,
		.sync_ns = LEFT_OUT,
	};
	return with_sizes(&row, &device->sizes[direction][memory]);
}

static const void *host_transfer(const struct operations *operations, size_t direction,
				 size_t memory)
{
	static struct profile_transfer row;
	const struct operations_sum *sum = &operations->copies[direction][memory];

	row = (struct profile_transfer){
		.view = "hotpin",
		.direction = report_directions[direction],
		.memory = report_host_memories[memory],
		.count = sum->count,
		.bytes = sum->bytes,
		.busy_ns = LEFT_OUT,
		.untimed_bytes = LEFT_OUT,
		.pieces = LEFT_OUT,
		.host_ns = sum->host_ns,
		.sync_count = sum->sync_count,
		.sync_bytes = sum->sync_bytes,
		.sync_ns = sum->sync_ns,
	};
	return with_sizes(&row, &operations->sizes[direction][memory]);
}

static const void *transfer_at(const struct report *report, size_t index)
{
	if (index >= DEVICE_TRANSFERS) {
		index -= DEVICE_TRANSFERS;
		return host_transfer(&report->operations, index / TRACE_MEMORIES,
				     index % TRACE_MEMORIES);
	}
	if (!report->device)
		return NULL;
	return device_transfer(report->collected.device, index / AGGREGATE_MEMORIES,
			       index % AGGREGATE_MEMORIES);
}

static size_t count_kernels(const struct report *report)
{
	return report->device && report->collected.device != NULL ? AGGREGATE_KERNELS_MOST + 1
								  : JSON_UNKNOWN;
}

static const void *kernel_at(const struct report *report, size_t index)
{
	const struct profile_kernel *kernel = &report->collected.device->kernels[index];

	return kernel->count > 0 ? kernel : NULL;
}

static size_t count_calls(const struct report *report)
{
	(void)report;
	return calls_functions() > 0 ? calls_functions() : JSON_UNKNOWN;
}

static const void *call_at(const struct report *report, size_t index)
{
	static struct profile_call call;

	(void)report;
	calls_read(index, &call);
	return call.count > 0 ? &call : NULL;
}

static size_t count_sites(const struct report *report)
{
	struct sites_counts counts;

	if (!report->places)
		return JSON_UNKNOWN;
	sites_count(&counts);
	return counts.sites;
}

static const void *site_at(const struct report *report, size_t index)
{
	static struct profile_row rows[TRACE_DIRECTIONS * TRACE_MEMORIES];
	static struct emit_place room;
	static struct profile_site out;
	struct site site;

	(void)report;
	sites_read(index, &site);
	out = (struct profile_site){
		.frames = emit_frames(&room, site.place.frame, site.place.depth, false),
		.python = emit_python(&room, site.place.python, site.place.python_depth),
		.python_count = site.place.python_depth,
		.folded = site.folded,
		.rows = rows,
	};
	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++)
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct sites_row *row = &site.row[direction][memory];

			if (row->count > 0)
				rows[out.row_count++] = (struct profile_row){
					.direction = report_directions[direction],
					.memory = report_host_memories[memory],
					.count = row->count,
					.bytes = row->bytes,
					.host_ns = row->host_ns,
					.sync_count = row->sync_count,
					.sync_ns = row->sync_ns,
				};
		}
	return &out;
}

static size_t count_gaps(const struct report *report)
{
	struct gaps_counts counts;

	if (!report->calls)
		return JSON_UNKNOWN;
	gaps_count(&counts);
	return counts.gaps;
}

static struct profile_gap_end gap_end(const struct gap_end *end, struct emit_place *room)
{
	if (end->function == GAPS_NO_CALL)
		return (struct profile_gap_end){ .call = NULL };
	return (struct profile_gap_end){
		.call = calls_name(end->function),
		.frames = emit_frames(room, end->place.frame, end->place.depth, false),
		.python = emit_python(room, end->place.python, end->place.python_depth),
		.python_count = end->place.python_depth,
	};
}

static const void *gap_at(const struct report *report, size_t index)
{
	static struct emit_place before, after;
	static struct profile_gap row;
	struct gap gap;

	(void)report;
	gaps_read(index, &gap);
	row = (struct profile_gap){
		.before = gap_end(&gap.before, &before),
		.after = gap_end(&gap.after, &after),
		.count = gap.sum.count,
		.total_ns = gap.sum.total_ns,
		.longest_ns = gap.sum.longest_ns,
	};
	return &row;
}

static size_t count_launches(const struct report *report)
{
	uint64_t lost;

	return report->calls ? launches_count(&lost) : JSON_UNKNOWN;
}

static const void *launch_at(const struct report *report, size_t index)
{
	static struct emit_place room;
	static struct profile_launch row;
	struct launch_site site;

	launches_read(index, &site);
	row = (struct profile_launch){
		.frames = emit_frames(&room, site.place.frame, site.place.depth, false),
		.python = emit_python(&room, site.place.python, site.place.python_depth),
		.python_count = site.place.python_depth,
		.count = site.count,
		.host_ns = site.host_ns,
		.kernels = UNKNOWN,
		.device_ns = UNKNOWN,
		.estimated_ns = UNKNOWN,
	};
	if (launch_times_wanted() && report->collected.device != NULL)
		launch_times_read(index, &row);
	return &row;
}

static size_t count_buffers(const struct report *report)
{
	return report->places ? host_buffers_count() : JSON_UNKNOWN;
}

/* Turns the ids of the copy sites into their indices. */
static void find_sites(struct profile_trips *trips)
{
	bool any = trips->count > 0;

	trips->download_site = any ? sites_index((uint32_t)trips->download_site) : UNKNOWN;
	trips->upload_site = any ? sites_index((uint32_t)trips->upload_site) : UNKNOWN;
}

/*
 * Buffers that were neither copied nor pinned are entries, too, since candidates refer to buffers
 * by index.
 */
static const void *buffer_at(const struct report *report, size_t index)
{
	static struct host_buffer buffer;
	static struct emit_place room;

	(void)report;
	host_buffers_read(index, &buffer);
	struct profile_buffer *row = &buffer.sums;
	row->frames = emit_frames(&room, buffer.place.frame, buffer.place.depth, buffer.guessed);
	row->python = emit_python(&room, buffer.place.python, buffer.place.python_depth);
	row->python_count = buffer.place.python_depth;
	row->pinned.unwaited_site = row->pinned.unwaited_frees + row->pinned.unwaited_at_end > 0
					    ? sites_index((uint32_t)row->pinned.unwaited_site)
					    : UNKNOWN;
	if (strcmp(row->kind, "pinned") != 0)
		profile_forget(profile_pinned_id, &row->pinned);
	row->largest_bytes = json_known(row->largest_bytes != 0, (uint64_t)row->largest_bytes);
	find_sites(&row->round_trips);
	find_sites(&row->follows);
	row->round_trips.after = LEFT_OUT;
	if (row->follows.count == 0)
		row->follows.after = UNKNOWN;
	return row;
}

static size_t count_repeats(const struct report *report)
{
	(void)report;
	return repeats_rows();
}

static const void *repeat_at(const struct report *report, size_t index)
{
	static struct profile_repeat row;

	(void)report;
	repeats_read_row(index, &row);
	row.site = sites_index((uint32_t)row.site);
	return &row;
}

static size_t count_ranges(const struct report *report)
{
	uint64_t lost;

	return report->ranges != NULL ? nvtx_ranges_count(&lost) : 0;
}

static const void *range_at(const struct report *report, size_t index)
{
	static struct profile_range row;
	static struct nvtx_range range;
	struct split_sum sum;

	nvtx_ranges_read(index + 1, &range);
	split_range_sum(report->ranges, (unsigned)index + 1, &sum);
	row = (struct profile_range){
		.name = range.name,
		.domain = range.domain,
		.entered = range.entered,
		.wall_ns = sum.wall_ns,
		.split = report_split(report, &sum),
		.h2d = range.flow[TRACE_H2D],
		.d2h = range.flow[TRACE_D2H],
		.launches = range.launches,
	};
	return range.entered > 0 ? &row : NULL;
}

static size_t count_warnings(const struct report *report)
{
	return report->warnings;
}

static const void *warning_at(const struct report *report, size_t index)
{
	return report->warning[index];
}

const struct json_list emit_lists[] = {
	JSON_LIST(profile, transfers, count_transfers, transfer_at),
	JSON_LIST(profile, kernels, count_kernels, kernel_at),
	JSON_LIST(profile, calls, count_calls, call_at),
	JSON_LIST(profile, sites, count_sites, site_at),
	JSON_LIST(profile, buffers, count_buffers, buffer_at),
	JSON_LIST(profile, gaps, count_gaps, gap_at),
	JSON_LIST(profile, launches, count_launches, launch_at),
	JSON_LIST(profile_repeats, sites, count_repeats, repeat_at),
	JSON_LIST(profile, ranges, count_ranges, range_at),
	JSON_LIST(profile, warnings, count_warnings, warning_at),
	{ 0 },
};
