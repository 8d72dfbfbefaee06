/*
 * emit_events.c - writes the timeline, one line for each event.
 */
#include "trace/out/emit_events.h"
#include "base/arena.h"
#include "base/parse.h"
#include "trace/calls/calls.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/nvtx_ranges.h"
#include "trace/collect/details.h"
#include "trace/collect/events.h"
#include "trace/places/sites.h"

#include <stdio.h>

#define NAMES_A_KIND (EVENT_WAYS * 128u)
#define NAMES_OF_API (AGGREGATE_KERNELS_MOST + 1 + 6 * NAMES_A_KIND)
#define NAMES_OF_OWN (NAMES_OF_API + CALLS_FUNCTIONS_MOST)
/* One more name, for samples. */
#define NAMES        (NAMES_OF_OWN + EVENT_OWNS + 1)

/* From emit_events_begin() to emit_events_end(), of the thread that writes. */
static struct events_all all;
static uint32_t *position; /* of each name among the used ones, plus 1; NULL: no timeline */

/* Returns the number of an event's name in one sequence of all possible names. */
static size_t key_of(const struct event *event)
{
	switch (event->kind) {
	case EVENT_KERNEL:
		return event->name;
	case EVENT_API:
		return NAMES_OF_API + event->name % CALLS_FUNCTIONS_MOST;
	case EVENT_OWN:
		return NAMES_OF_OWN + event->name % EVENT_OWNS;
	case EVENT_SAMPLE:
		return NAMES_OF_OWN + EVENT_OWNS;
	default:
		return AGGREGATE_KERNELS_MOST + 1 + event->kind * NAMES_A_KIND +
		       event->name % NAMES_A_KIND;
	}
}

/* Returns `ret`, or a name of any length. */
static const char *name_of(const struct report *report, const struct event *event, char *ret,
			   size_t room)
{
	static const char *const ways[] = {
		[EVENT_WAITS] = "", [EVENT_ASYNC] = " async", [EVENT_DEFERRED] = " deferred"
	};
	static const char *const owns[EVENT_OWNS] = { [EVENT_PIN] = "pin",
						      [EVENT_UNPIN] = "unpin",
						      [EVENT_JOIN] = "wait for deferred copies" };
	unsigned direction = event->name / 16 % 8, memory = event->name % 16;

	switch (event->kind) {
	case EVENT_KERNEL:
		return report->collected.device->kernels[event->name].name;
	case EVENT_COPY:
		snprintf(ret, room, "%s %s", report_directions[direction],
			 report_device_memories[memory]);
		break;
	case EVENT_CALL:
		snprintf(ret, room, "copy %s%s%s%s", report_directions[direction],
			 memory != TRACE_UNKNOWN ? " " : "",
			 memory != TRACE_UNKNOWN ? report_host_memories[memory] : "",
			 ways[event->name / 128 % EVENT_WAYS]);
		break;
	case EVENT_API:
		snprintf(ret, room, "%s", calls_name(event->name));
		break;
	case EVENT_OWN:
		snprintf(ret, room, "%s", owns[event->name % EVENT_OWNS]);
		break;
	case EVENT_RANGE: {
		struct nvtx_range range;

		nvtx_ranges_read(event->name, &range);
		snprintf(ret, room, "%s", range.name);
		break;
	}
	case EVENT_SAMPLE:
		snprintf(ret, room, "sample");
		break;
	default:
		snprintf(ret, room, "%s", event->kind == EVENT_MEMSET ? "memset" : "wait");
	}
	return ret;
}

bool emit_events_begin(const struct report *report, struct profile_events *ret)
{
	/* Without the device's part, the reader still changes what events refer to. */
	if (report->events && report->ended && report->collected.device != NULL)
		position = hp_arena_alloc(NAMES * sizeof(*position));
	if (position == NULL)
		return false;
	events_end(&all);
	ret->dropped = all.dropped;
	ret->trackless = all.trackless;
	ret->shortest_ns = all.shortest_ns;
	return true;
}

void emit_events_end(void)
{
	if (position != NULL)
		hp_arena_free(position, NAMES * sizeof(*position));
	position = NULL;
}

void emit_event_names(const struct report *report, struct json *json, const char *name)
{
	uint32_t used = 0;
	char room[NVTX_RANGES_NAME_MOST];

	json_open(json, name, "[");
	for (size_t i = 0; i < all.count; i++) {
		size_t key = key_of(&all.event[i]);

		if (position[key] != 0)
			continue;
		position[key] = ++used;
		json_words(json, NULL, name_of(report, &all.event[i], room, sizeof(room)));
	}
	json_close(json, "]");
}

void emit_event_tracks(const struct report *report, struct json *json, const char *name)
{
	static const char *const kinds[] = {
		[EVENT_STREAM] = "stream", [EVENT_THREAD] = "thread",   [EVENT_RANGES] = "ranges",
		[EVENT_HOTPIN] = "hotpin", [EVENT_SAMPLES] = "samples",
	};

	(void)report;
	json_open(json, name, "[");
	for (size_t i = 0; i < all.tracks; i++) {
		const struct event_track *track = &all.track[i];
		bool is_stream = track->kind == EVENT_STREAM;
		bool is_thread = track->kind == EVENT_THREAD;
		const struct profile_track row = {
			.kind = kinds[track->kind],
			.device = json_known(is_stream, track->device),
			.context = json_known(is_stream, track->context),
			.stream = json_known(is_stream, track->stream),
			.tid = json_known(track->kind == EVENT_SAMPLES ||
						  (is_thread && track->threads == 1),
					  track->tid),
			.threads = json_known(is_thread, track->threads),
			.name = track->name,
		};

		json_record(json, NULL, profile_track_id, &row);
	}
	json_close(json, "]");
}

/* Writes the shapes that `detail` of a kernel refers to. */
void emit_event_shapes(const struct report *report, struct json *json, const char *name)
{
	(void)report;
	json_open(json, name, "[");
	for (size_t i = 0; i < details_shapes(); i++) {
		const struct shape *shape = details_shape_at(i);
		const struct profile_shape row = {
			.grid = { shape->grid[0], shape->grid[1], shape->grid[2] },
			.block = { shape->block[0], shape->block[1], shape->block[2] },
			.registers = shape->registers,
			.static_shared_bytes = shape->static_shared,
			.dynamic_shared_bytes = shape->dynamic_shared,
		};

		json_record(json, NULL, profile_shape_id, &row);
	}
	json_close(json, "]");
}

/* Writes the routes that `route` of a call refers to. */
void emit_event_routes(const struct report *report, struct json *json, const char *name)
{
	static const char *const routes[TRACE_ROUTES] = { "unknown", "pass",  "direct", "bounce",
							  "stage",   "defer", "unpin" };

	(void)report;
	json_open(json, name, "[");
	for (size_t i = 0; i < TRACE_ROUTES; i++)
		json_words(json, NULL, routes[i]);
	json_close(json, "]");
}

/* Writes the places that `detail` of a sample refers to. */
void emit_event_places(const struct report *report, struct json *json, const char *name)
{
	(void)report;
	json_open(json, name, "[");
	for (size_t i = 0; i < details_places(); i++) {
		uint32_t caller;
		struct module_place place = details_place_at(i, &caller);
		const struct profile_event_place row = {
			.module = json_known(place.module != MODULES_NOWHERE, place.module),
			.offset = place.offset,
			.caller = json_known(caller != DETAILS_UNKNOWN, caller),
		};

		json_record(json, NULL, profile_event_place_id, &row);
	}
	json_close(json, "]");
}

void emit_event_fields(const struct report *report, struct json *json, const char *name)
{
	const struct profile_table table = profile_table(profile_event_id);

	(void)report;
	json_open(json, name, "[");
	for (size_t i = 0; i < table.count; i++)
		json_words(json, NULL, table.fields[i].name);
	json_close(json, "]");
}

/* Returns the index of an event's detail in the JSON. */
static int64_t detail_of(const struct report *report, const struct event *event)
{
	bool has_detail = event->kind == EVENT_KERNEL || event->kind == EVENT_SAMPLE;

	if (event->kind == EVENT_CALL)
		return json_known(report->buffers && event->detail != HOST_BUFFERS_UNSEEN,
				  event->detail);
	return json_known(has_detail && event->detail != DETAILS_UNKNOWN, event->detail);
}

static uint64_t since_began(const struct report *report, uint64_t ns)
{
	return ns - (ns < report->began_ns ? ns : report->began_ns);
}

void emit_event_rows(const struct report *report, struct json *json, const char *name)
{
	json_open(json, name, "[");
	for (size_t i = 0; i < all.count; i++) {
		const struct event *event = &all.event[i];
		uint64_t start_ns = since_began(report, event->start_ns);
		bool is_copy = event->kind == EVENT_COPY;
		bool called = is_copy && event->caller != UINT32_MAX;
		uint32_t site = is_copy ? SITES_NOWHERE : sites_index(event->site);
		const struct profile_event row = {
			.kind = event->kind,
			.track = event->track,
			.start_ns = start_ns,
			.duration_ns = event->duration_ns,
			.name = position[key_of(event)] - 1,
			.bytes = json_known(event->bytes != UINT64_MAX, event->bytes),
			.site = json_known(site != SITES_NOWHERE, site),
			.detail = detail_of(report, event),
			.route = json_known(event->kind == EVENT_CALL, event->route),
			.call_track = json_known(called, event->caller),
			.call_ns = json_known(called && start_ns >= event->since_call_ns,
					      start_ns - event->since_call_ns),
		};

		json_row(json, profile_event_id, &row);
	}
	json_close(json, "]");
}
