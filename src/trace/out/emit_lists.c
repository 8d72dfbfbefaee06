/*
 * emit_lists.c - an entry of each list, filled in when it is written.
 *
 * One thread at a time writes a profile, so entries are static.
 */
#include "trace/out/emit.h"
#include "trace/calls/calls.h"
#include "trace/calls/gaps.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/launches.h"
#include "trace/calls/repeats.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/places/sites.h"

#include <string.h>

/* Adds the sizes; NULL: there are no such copies. */
static const void *with_sizes(struct profile_transfer *row, const struct sizes *sizes)
{
	static struct profile_size rooms[SIZES_BINS];

	row->sizes = rooms;
	for (unsigned bin = 0; bin < SIZES_BINS; bin++) {
		if (sizes->bin[bin].count == 0)
			continue;
		rooms[row->size_count] = sizes->bin[bin];
		rooms[row->size_count++].from_bytes = sizes_from(bin);
	}
	return row->count > 0 ? row : NULL;
}

static const void *device_transfer(const struct aggregate *device, size_t direction, size_t memory)
{
	static struct profile_transfer row;
	const struct aggregate_sum *sum = &device->copies[direction][memory];

	row = (struct profile_transfer){
		.view = "cupti",
		.direction = report_directions[direction],
		.memory = report_memories[memory],
		.count = sum->count,
		.bytes = sum->bytes,
		.busy_ns = json_known(sum->busy_ns != 0, sum->busy_ns),
		.untimed_bytes = sum->untimed_bytes,
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
	const struct trace_sum *sum = &operations->copies[direction][memory];

	row = (struct profile_transfer){
		.view = "hotpin",
		.direction = report_directions[direction],
		.memory = report_memories[memory],
		.count = sum->count,
		.bytes = sum->bytes,
		.busy_ns = LEFT_OUT,
		.untimed_bytes = LEFT_OUT,
		.host_ns = sum->host_ns,
		.sync_count = sum->sync_count,
		.sync_bytes = sum->sync_bytes,
		.sync_ns = sum->sync_ns,
	};
	return with_sizes(&row, &operations->sizes[direction][memory]);
}

static const void *transfer_at(const struct report *report, size_t index)
{
	size_t direction = index / TRACE_MEMORIES, memory = index % TRACE_MEMORIES;

	if (direction == AGGREGATE_DIRECTIONS + TRACE_DIRECTIONS)
		return JSON_END;
	if (direction >= AGGREGATE_DIRECTIONS)
		return host_transfer(&report->operations, direction - AGGREGATE_DIRECTIONS, memory);
	if (!report->device)
		return NULL;
	return device_transfer(report->collected.device, direction, memory);
}

static const void *kernel_at(const struct report *report, size_t index)
{
	if (!report->device || report->collected.device == NULL)
		return JSON_UNKNOWN;
	if (index > AGGREGATE_KERNELS_MOST)
		return JSON_END;
	const struct profile_kernel *kernel = &report->collected.device->kernels[index];
	return kernel->count > 0 ? kernel : NULL;
}

static const void *call_at(const struct report *report, size_t index)
{
	static struct profile_call call;

	(void)report;
	if (index == calls_functions())
		return index == 0 ? JSON_UNKNOWN : JSON_END;
	calls_read(index, &call);
	return call.count > 0 ? &call : NULL;
}

static const void *site_at(const struct report *report, size_t index)
{
	static struct profile_row rows[TRACE_DIRECTIONS * TRACE_MEMORIES];
	static struct emit_place room;
	static struct profile_site out;
	struct site site;

	if (!report->calls)
		return JSON_UNKNOWN;
	if (!sites_read(index, &site))
		return JSON_END;
	out = (struct profile_site){
		EMIT_PLACE(&room, &site.place, false),
		.folded = site.folded,
		.rows = rows,
	};
	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++)
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct trace_sum *row = &site.row[direction][memory];

			if (row->count > 0)
				rows[out.row_count++] = (struct profile_row){
					.direction = report_directions[direction],
					.memory = report_memories[memory],
					.count = row->count,
					.bytes = row->bytes,
					.host_ns = row->host_ns,
					.sync_count = row->sync_count,
					.sync_ns = row->sync_ns,
				};
		}
	return &out;
}

static struct profile_gap_end gap_end(const struct gap_end *end, struct emit_place *room)
{
	if (end->function == GAPS_NO_CALL)
		return (struct profile_gap_end){ .call = NULL };
	return (struct profile_gap_end){
		.call = calls_name(end->function),
		EMIT_PLACE(room, &end->place, false),
	};
}

static const void *gap_at(const struct report *report, size_t index)
{
	static struct emit_place before, after;
	static struct profile_gap row;
	struct gap gap;

	if (!report->calls)
		return JSON_UNKNOWN;
	if (!gaps_read(index, &gap))
		return JSON_END;
	row = (struct profile_gap){
		.before = gap_end(&gap.before, &before),
		.after = gap_end(&gap.after, &after),
		.count = gap.sum.count,
		.total_ns = gap.sum.total_ns,
		.longest_ns = gap.sum.longest_ns,
	};
	return &row;
}

static const void *launch_at(const struct report *report, size_t index)
{
	static struct emit_place room;
	static struct profile_launch row;
	struct launch_site site;

	if (!report->calls)
		return JSON_UNKNOWN;
	if (!launches_read(index, &site))
		return JSON_END;
	row = (struct profile_launch){
		EMIT_PLACE(&room, &site.place, false),
		.count = site.count,
		.host_ns = site.host_ns,
		.kernels = UNKNOWN,
		.device_ns = UNKNOWN,
		.estimated_ns = UNKNOWN,
	};
	if (launches_are_recorded() && report->collected.device != NULL)
		launches_read_times(index, &row);
	return &row;
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

	if (!report->calls)
		return JSON_UNKNOWN;
	if (!host_buffers_read(index, &buffer))
		return JSON_END;
	struct profile_buffer *row = &buffer.sums;
	row->frames = emit_chain(&room, buffer.place.frame, buffer.place.depth, buffer.guessed);
	row->python = emit_python(&room, buffer.place.python, buffer.place.python_depth);
	row->python_count = buffer.place.python_depth;
	row->file = buffer.file[0] != '\0' ? buffer.file : NULL;
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

static const void *repeat_at(const struct report *report, size_t index)
{
	static struct profile_repeat row;

	(void)report;
	if (!repeats_read_row(index, &row))
		return JSON_END;
	row.site = sites_index((uint32_t)row.site);
	return &row;
}

static const void *range_at(const struct report *report, size_t index)
{
	static struct profile_range row;
	static struct nvtx_range range;
	struct split_sum sum;

	if (report->ranges == NULL || !nvtx_ranges_read(index + 1, &range))
		return JSON_END;
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

static const void *warning_at(const struct report *report, size_t index)
{
	return index < report->warnings ? report->warning[index] : JSON_END;
}

const struct json_list emit_lists[] = {
	JSON_LIST(profile, transfers, transfer_at),
	JSON_LIST(profile, kernels, kernel_at),
	JSON_LIST(profile, calls, call_at),
	JSON_LIST(profile, sites, site_at),
	JSON_LIST(profile, buffers, buffer_at),
	JSON_LIST(profile, gaps, gap_at),
	JSON_LIST(profile, launches, launch_at),
	JSON_LIST(profile_repeats, sites, repeat_at),
	JSON_LIST(profile, ranges, range_at),
	JSON_LIST(profile, warnings, warning_at),
	{ 0 },
};
