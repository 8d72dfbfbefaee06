/*
 * emit_events.c - writes the timeline, one line for each event.
 */
#include "trace/out/emit.h"
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
static uint32_t used;      /* names */

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
	struct nvtx_range range;

	switch ((enum event_kind)event->kind) {
	case EVENT_KERNEL:
		return report->collected.device->kernels[event->name].name;
	case EVENT_COPY:
		snprintf(ret, room, "%s %s", report_directions[direction], report_memories[memory]);
		return ret;
	case EVENT_COPY_CALL:
		snprintf(ret, room, "copy %s%s%s%s", report_directions[direction],
			 memory != TRACE_UNKNOWN ? " " : "",
			 memory != TRACE_UNKNOWN ? report_memories[memory] : "",
			 ways[event->name / 128 % EVENT_WAYS]);
		return ret;
	case EVENT_RANGE:
		nvtx_ranges_read(event->name, &range);
		snprintf(ret, room, "%s", range.name);
		return ret;
	case EVENT_API:
		return calls_name(event->name);
	case EVENT_OWN:
		return owns[event->name % EVENT_OWNS];
	case EVENT_MEMSET:
		return "memset";
	case EVENT_WAIT:
		return "wait";
	case EVENT_SAMPLE:
		return "sample";
	}
	return "";
}

void emit_events_begin(const struct report *report, struct profile_events *ret)
{
	/* How a copying call was carried out. */
	static const char *routes[TRACE_ROUTES] = { "unknown", "pass",  "direct", "bounce",
						    "stage",   "defer", "unpin" };
	static const char *fields[sizeof(struct profile_event) / sizeof(int64_t)];

	/* Without the device's part, the reader still changes what events refer to. */
	if (events_wanted() && report->ended && report->collected.device != NULL)
		position = hp_arena_alloc(NAMES * sizeof(*position));
	if (position == NULL)
		return;
	used = 0;
	events_end(&all);
	ret->dropped = all.dropped;
	ret->trackless = all.trackless;
	ret->shortest_ns = all.shortest_ns;
	details_read(ret);
	ret->routes = routes;
	ret->route_count = TRACE_ROUTES;
	ret->fields = fields;
	ret->field_count = HP_LEN(fields);
	for (size_t i = 0; i < HP_LEN(fields); i++)
		fields[i] = profile_table(profile_event_id).fields[i].name;
}

void emit_events_end(void)
{
	if (position != NULL)
		hp_arena_free(position, NAMES * sizeof(*position));
	position = NULL;
}

/* Returns the name of an event, unless an event before it has the same name. */
static const void *name_at(const struct report *report, size_t index)
{
	static char room[NVTX_RANGES_NAME_MOST];

	if (index == all.count)
		return JSON_END;
	size_t key = key_of(&all.event[index]);
	if (position[key] != 0)
		return NULL;
	position[key] = ++used;
	return name_of(report, &all.event[index], room, sizeof(room));
}

static const void *track_at(const struct report *report, size_t index)
{
	static const char *const kinds[] = {
		[EVENT_STREAM] = "stream", [EVENT_THREAD] = "thread",   [EVENT_RANGES] = "ranges",
		[EVENT_HOTPIN] = "hotpin", [EVENT_SAMPLES] = "samples",
	};
	static struct profile_track row;

	(void)report;
	if (index == all.tracks)
		return JSON_END;
	const struct event_track *track = &all.track[index];
	bool is_stream = track->kind == EVENT_STREAM, is_thread = track->kind == EVENT_THREAD;
	row = (struct profile_track){
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
	return &row;
}

/* Returns the index of an event's detail in the JSON. */
static int64_t detail_of(const struct report *report, const struct event *event)
{
	bool has_detail = event->kind == EVENT_KERNEL || event->kind == EVENT_SAMPLE;

	if (event->kind == EVENT_COPY_CALL)
		return json_known(report->calls && event->detail != HOST_BUFFERS_UNSEEN,
				  event->detail);
	return json_known(has_detail && event->detail != DETAILS_UNKNOWN, event->detail);
}

static uint64_t since_began(const struct report *report, uint64_t ns)
{
	return ns - (ns < report->began_ns ? ns : report->began_ns);
}

static const void *event_at(const struct report *report, size_t index)
{
	static struct profile_event row;

	if (index == all.count)
		return JSON_END;
	const struct event *event = &all.event[index];
	uint64_t start_ns = since_began(report, event->start_ns);
	bool is_copy = event->kind == EVENT_COPY;
	bool called = is_copy && event->caller != UINT32_MAX;
	row = (struct profile_event){
		.kind = event->kind,
		.track = event->track,
		.start_ns = start_ns,
		.duration_ns = event->duration_ns,
		.name = position[key_of(event)] - 1,
		.bytes = json_known(event->bytes != UINT64_MAX, event->bytes),
		.site = is_copy ? UNKNOWN : sites_index(event->site),
		.detail = detail_of(report, event),
		.route = json_known(event->kind == EVENT_COPY_CALL, event->route),
		.call_track = json_known(called, event->caller),
		.call_ns = json_known(called && start_ns >= event->since_call_ns,
				      start_ns - event->since_call_ns),
	};
	return &row;
}

const struct json_list emit_events_lists[] = {
	JSON_LIST(profile_events, names, name_at),
	JSON_LIST(profile_events, tracks, track_at),
	/* After the names. */
	JSON_LIST(profile_events, rows, event_at),
	{ 0 },
};
