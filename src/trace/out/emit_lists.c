/*
 * emit_lists.c - writes the lists of the profile, one record after the other.
 */
#include "trace/out/emit_lists.h"
#include "trace/calls/call_class.h"
#include "trace/calls/calls.h"
#include "trace/calls/gaps.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/launch_times.h"
#include "trace/calls/launches.h"
#include "trace/calls/repeats.h"
#include "trace/out/emit_places.h"
#include "trace/places/sites.h"

struct profile_sum emit_sum(const struct trace_flow *flow)
{
	return (struct profile_sum){ .count = flow->count,
				     .bytes = flow->bytes,
				     .host_ns = flow->host_ns };
}

static void add_transfer(struct json *json, struct profile_transfer *row, const struct sizes *sizes)
{
	struct profile_size rooms[SIZES_BINS];

	row->sizes = rooms;
	for (unsigned bin = 0; bin < SIZES_BINS; bin++)
		if (sizes->bin[bin].count > 0)
			rooms[row->size_count++] = (struct profile_size){
				.from_bytes = sizes_from(bin),
				.count = sizes->bin[bin].count,
				.bytes = sizes->bin[bin].bytes,
				.busy_ns = sizes->bin[bin].ns,
			};
	json_record(json, NULL, profile_transfer_id, row);
}

static void add_device_transfer(const struct aggregate *device, int direction, int memory,
				struct json *json)
{
	const struct aggregate_sum *sum = &device->copies[direction][memory];
	struct profile_transfer row = {
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

	if (sum->count > 0)
		add_transfer(json, &row, &device->sizes[direction][memory]);
}

static void add_host_transfer(const struct hostcalls *calls, int direction, int memory,
			      struct json *json)
{
	const struct hostcalls_sum *sum = &calls->copies[direction][memory];
	struct profile_transfer row = {
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

	if (sum->count > 0)
		add_transfer(json, &row, &calls->sizes[direction][memory]);
}

void emit_transfers(const struct report *report, struct json *json, const char *name)
{
	json_open(json, name, "[");
	for (int direction = 0; report->device && direction < AGGREGATE_DIRECTIONS; direction++)
		for (int memory = 0; memory < AGGREGATE_MEMORIES; memory++)
			add_device_transfer(report->collected.device, direction, memory, json);
	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++)
		for (int memory = 0; memory < TRACE_MEMORIES; memory++)
			add_host_transfer(&report->calls, direction, memory, json);
	json_close(json, "]");
}

void emit_kernels(const struct report *report, struct json *json, const char *name)
{
	if (!report->device || report->collected.device == NULL) {
		json_null(json, name);
		return;
	}
	json_open(json, name, "[");
	for (size_t i = 0; i <= AGGREGATE_KERNELS_MOST; i++) {
		const struct aggregate_kernel *kernel = &report->collected.device->kernels[i];
		const struct profile_kernel row = { .name = kernel->name,
						    .count = kernel->count,
						    .busy_ns = kernel->busy_ns,
						    .longest_ns = kernel->most_ns };

		if (kernel->count > 0)
			json_record(json, NULL, profile_kernel_id, &row);
	}
	json_close(json, "]");
}

void emit_calls(const struct report *report, struct json *json, const char *name)
{
	(void)report;
	if (calls_functions() == 0) {
		json_null(json, name);
		return;
	}
	json_open(json, name, "[");
	for (size_t i = 0; i < calls_functions(); i++) {
		struct calls_sum sum;

		calls_read(i, &sum);
		if (sum.count == 0)
			continue;
		const struct profile_call row = {
			.name = calls_name(i),
			.class = call_class_names[call_class_of(calls_name(i))],
			.count = sum.count,
			.total_ns = sum.total_ns,
			.longest_ns = sum.longest_ns,
		};
		json_record(json, NULL, profile_call_id, &row);
	}
	json_close(json, "]");
}

static void add_site(struct json *json, const struct site *site)
{
	struct profile_row rows[TRACE_DIRECTIONS * TRACE_MEMORIES];
	struct emit_place room;
	struct profile_site out = {
		.frames = emit_frames(&room, site->place.frame, site->place.depth, false),
		.python = emit_python(&room, site->place.python, site->place.python_depth),
		.python_count = site->place.python_depth,
		.folded = site->folded,
		.rows = rows,
	};

	for (int direction = 0; direction < TRACE_DIRECTIONS; direction++)
		for (int memory = 0; memory < TRACE_MEMORIES; memory++) {
			const struct sites_row *row = &site->row[direction][memory];

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
	json_record(json, NULL, profile_site_id, &out);
}

void emit_sites(const struct report *report, struct json *json, const char *name)
{
	struct sites_counts counts = { 0 };

	if (!report->sites) {
		json_null(json, name);
		return;
	}
	sites_count(&counts);
	json_open(json, name, "[");
	for (size_t i = 0; i < counts.sites; i++) {
		struct site site;

		sites_read(i, &site);
		add_site(json, &site);
	}
	json_close(json, "]");
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

void emit_gaps(const struct report *report, struct json *json, const char *name)
{
	struct gaps_counts counts = { 0 };

	if (!report->gaps) {
		json_null(json, name);
		return;
	}
	gaps_count(&counts);
	json_open(json, name, "[");
	for (size_t i = 0; i < counts.gaps; i++) {
		struct emit_place before, after;
		struct gap gap;

		gaps_read(i, &gap);
		const struct profile_gap row = {
			.before = gap_end(&gap.before, &before),
			.after = gap_end(&gap.after, &after),
			.count = gap.sum.count,
			.total_ns = gap.sum.total_ns,
			.longest_ns = gap.sum.longest_ns,
		};
		json_record(json, NULL, profile_gap_id, &row);
	}
	json_close(json, "]");
}

void emit_launches(const struct report *report, struct json *json, const char *name)
{
	bool known = launch_times_wanted() && report->collected.device != NULL;
	struct launch_time time = { 0 };
	uint64_t lost;

	if (!report->launches) {
		json_null(json, name);
		return;
	}
	json_open(json, name, "[");
	for (size_t i = 0, count = launches_count(&lost); i < count; i++) {
		struct launch_site site;
		struct emit_place room;

		launches_read(i, &site);
		if (known)
			launch_times_read(i, &time);
		const struct profile_launch row = {
			.frames = emit_frames(&room, site.place.frame, site.place.depth, false),
			.python = emit_python(&room, site.place.python, site.place.python_depth),
			.python_count = site.place.python_depth,
			.count = site.count,
			.host_ns = site.host_ns,
			.kernels = json_known(known, time.kernels),
			.device_ns = json_known(known, time.device_ns),
			.estimated_ns = json_known(known, time.estimated_ns),
		};
		json_record(json, NULL, profile_launch_id, &row);
	}
	json_close(json, "]");
}

/* The index of a copy site by its name; UNKNOWN if it is not known. */
static int64_t site_index(uint32_t name)
{
	uint32_t site = sites_index(name);

	return json_known(site != SITES_NOWHERE, site);
}

static struct profile_trips trips_of(const struct round_trip_sum *sum, int64_t after)
{
	bool any = sum->count != 0;

	return (struct profile_trips){
		.count = sum->count,
		.bytes = sum->bytes,
		.host_ns = sum->host_ns,
		.copy_ns = sum->copy_ns,
		.download_site = site_index(any ? sum->download_site : SITES_NOWHERE),
		.upload_site = site_index(any ? sum->upload_site : SITES_NOWHERE),
		.after = after,
	};
}

/*
 * Includes buffers that were neither copied nor pinned, since candidates refer to buffers by index.
 */
void emit_buffers(const struct report *report, struct json *json, const char *name)
{
	static const char *const kinds[] = { [HOST_BUFFER_HEAP] = "heap",
					     [HOST_BUFFER_STATIC] = "static",
					     [HOST_BUFFER_OTHER] = "other" };

	if (!report->buffers) {
		json_null(json, name);
		return;
	}
	json_open(json, name, "[");
	for (size_t i = 0, count = host_buffers_count(); i < count; i++) {
		struct host_buffer buffer;
		struct emit_place room;

		host_buffers_read(i, &buffer);
		const struct profile_buffer row = {
			.kind = kinds[buffer.kind],
			.frames = emit_frames(&room, buffer.way.frame, buffer.way.depth,
					      buffer.way.guessed),
			.largest_bytes =
				json_known(buffer.largest_bytes != 0, buffer.largest_bytes),
			.h2d = emit_sum(&buffer.flow[TRACE_H2D]),
			.d2h = emit_sum(&buffer.flow[TRACE_D2H]),
			.promoted_bytes = buffer.promoted_bytes,
			.pins = buffer.pins,
			.pin_ns = buffer.pin_ns,
			.saved_ns = buffer.saved_ns,
			.could_save_ns = buffer.could_save_ns,
			.round_trips = trips_of(&buffer.round_trips, LEFT_OUT),
			.follows = trips_of(&buffer.follows,
					    json_known(buffer.follows.count != 0, buffer.after)),
		};
		json_record(json, NULL, profile_buffer_id, &row);
	}
	json_close(json, "]");
}

struct profile_repeats emit_repeats(void)
{
	struct repeats repeats;

	repeats_read(&repeats);
	return (struct profile_repeats){
		.hashed_copies = repeats.copies,
		.hashed_bytes = repeats.bytes,
		.hash_ns = repeats.hash_ns,
		.duplicates = emit_sum(&repeats.all[REPEAT_DUPLICATE]),
		.ping_pong = emit_sum(&repeats.all[REPEAT_PING_PONG]),
	};
}

void emit_repeat_sites(const struct report *report, struct json *json, const char *name)
{
	static const char *const kinds[] = {
		[REPEAT_DUPLICATE] = "duplicate", [REPEAT_PING_PONG] = "ping_pong"
	};
	struct repeats repeats;

	(void)report;
	repeats_read(&repeats);
	json_open(json, name, "[");
	for (size_t i = 0; i < repeats.rows; i++) {
		struct repeat_row row;

		repeats_read_row(i, &row);
		const struct profile_repeat out = {
			.kind = kinds[row.kind],
			.site = site_index(row.site),
			.buffer = json_known(row.buffer != UINT32_MAX, row.buffer),
			.count = row.flow.count,
			.bytes = row.flow.bytes,
			.host_ns = row.flow.host_ns,
		};
		json_record(json, NULL, profile_repeat_id, &out);
	}
	json_close(json, "]");
}
