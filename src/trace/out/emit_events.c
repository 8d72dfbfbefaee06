/*
 * emit_events.c - writes the timeline, one line for each event.
 */
#include "trace/out/emit_events.h"
#include "base/arena.h"
#include "base/parse.h"
#include "trace/calls/calls.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/stages.h"
#include "trace/collect/details.h"
#include "trace/collect/events.h"
#include "trace/places/sites.h"

#include <stdio.h>

#define NAMES_A_KIND (EVENT_WAYS * 128u)
#define NAMES_OF_API (AGGREGATE_KERNELS_MOST + 1 + 6 * NAMES_A_KIND)
#define NAMES_OF_OWN (NAMES_OF_API + CALLS_FUNCTIONS_MOST)
/* One more name, for samples. */
#define NAMES        (NAMES_OF_OWN + EVENT_OWNS + 1)

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
	case EVENT_STAGE: {
		struct stage stage;

		stages_read(event->name, &stage);
		snprintf(ret, room, "%s", stage.name);
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

/* Writes the used names, and fills `index` with the position of each, plus 1. */
static void add_names(const struct report *report, struct json *json, const struct events_all *all,
		      uint32_t *index)
{
	uint32_t used = 0;
	char name[STAGES_NAME_MOST];

	json_open(json, "names", "[");
	for (size_t i = 0; i < all->count; i++) {
		size_t key = key_of(&all->event[i]);

		if (index[key] != 0)
			continue;
		index[key] = ++used;
		json_words(json, NULL, name_of(report, &all->event[i], name, sizeof(name)));
	}
	json_close(json, "]");
}

static void add_tracks(struct json *json, const struct events_all *all)
{
	static const char *const kinds[] = {
		[EVENT_STREAM] = "stream", [EVENT_THREAD] = "thread",   [EVENT_STAGES] = "stages",
		[EVENT_HOTPIN] = "hotpin", [EVENT_SAMPLES] = "samples",
	};

	json_open(json, "tracks", "[");
	for (size_t i = 0; i < all->tracks; i++) {
		const struct event_track *track = &all->track[i];
		bool is_stream = track->kind == EVENT_STREAM;

		json_open(json, NULL, "{");
		json_text(json, "kind", kinds[track->kind]);
		json_known(json, "device", is_stream, track->device);
		json_known(json, "context", is_stream, track->context);
		json_known(json, "stream", is_stream, track->stream);
		json_known(json, "tid",
			   track->kind == EVENT_SAMPLES ||
				   (track->kind == EVENT_THREAD && track->threads == 1),
			   track->tid);
		json_known(json, "threads", track->kind == EVENT_THREAD, track->threads);
		json_text(json, "name", track->name);
		json_close(json, "}");
	}
	json_close(json, "]");
}

static void add_three(struct json *json, const char *name, const int32_t *numbers)
{
	json_open(json, name, "[");
	for (int i = 0; i < 3; i++)
		json_number(json, NULL, (uint64_t)numbers[i]);
	json_close(json, "]");
}

/* Writes the places that `detail` of a sample refers to. */
static void add_places(struct json *json)
{
	json_open(json, "places", "[");
	for (size_t i = 0; i < details_places(); i++) {
		uint32_t caller;
		struct module_place place = details_place_at(i, &caller);

		json_open(json, NULL, "{");
		json_known(json, "module", place.module != MODULES_NOWHERE, place.module);
		json_number(json, "offset", place.offset);
		json_known(json, "caller", caller != DETAILS_UNKNOWN, caller);
		json_close(json, "}");
	}
	json_close(json, "]");
}

/* Writes the shapes and routes that `detail` of a kernel and `route` of a call refer to. */
static void add_details(struct json *json)
{
	static const char *const routes[TRACE_ROUTES] = { "unknown", "pass",  "direct", "bounce",
							  "stage",   "defer", "unpin" };

	json_open(json, "shapes", "[");
	for (size_t i = 0; i < details_shapes(); i++) {
		const struct shape *shape = details_shape_at(i);

		json_open(json, NULL, "{");
		add_three(json, "grid", shape->grid);
		add_three(json, "block", shape->block);
		json_number(json, "registers", (uint64_t)shape->registers);
		json_number(json, "static_shared_bytes", (uint64_t)shape->static_shared);
		json_number(json, "dynamic_shared_bytes", (uint64_t)shape->dynamic_shared);
		json_close(json, "}");
	}
	json_close(json, "]");
	json_open(json, "routes", "[");
	for (size_t i = 0; i < TRACE_ROUTES; i++)
		json_words(json, NULL, routes[i]);
	json_close(json, "]");
}

/* Returns the index of an event's detail in the JSON; UINT64_MAX: none. */
static uint64_t detail_of(const struct report *report, const struct event *event)
{
	if ((event->kind == EVENT_KERNEL || event->kind == EVENT_SAMPLE) &&
	    event->detail != DETAILS_UNKNOWN)
		return event->detail;
	if (event->kind == EVENT_CALL && report->buffers && event->detail != HOST_BUFFERS_UNSEEN)
		return event->detail;
	return UINT64_MAX;
}

static uint64_t since_began(const struct report *report, uint64_t ns)
{
	return ns - (ns < report->began_ns ? ns : report->began_ns);
}

static void add_rows(const struct report *report, struct json *json, const struct events_all *all,
		     const uint32_t *index)
{
	static const char *const fields[] = { "kind",  "track",      "start_ns", "duration_ns",
					      "name",  "bytes",      "site",     "detail",
					      "route", "call_track", "call_ns" };

	json_open(json, "fields", "[");
	for (size_t i = 0; i < HP_LEN(fields); i++)
		json_words(json, NULL, fields[i]);
	json_close(json, "]");
	json_open(json, "rows", "[");
	for (size_t i = 0; i < all->count; i++) {
		const struct event *event = &all->event[i];
		uint64_t start_ns = since_began(report, event->start_ns);
		bool is_copy = event->kind == EVENT_COPY;
		bool called = is_copy && event->caller != UINT32_MAX;
		uint32_t site = is_copy ? SITES_NOWHERE : sites_index(event->site);

		uint64_t call_ns = UINT64_MAX;
		if (called && start_ns >= event->since_call_ns)
			call_ns = start_ns - event->since_call_ns;
		json_row(json,
			 (const uint64_t[]){ event->kind, event->track, start_ns,
					     event->duration_ns, index[key_of(event)] - 1,
					     event->bytes,
					     site == SITES_NOWHERE ? UINT64_MAX : site,
					     detail_of(report, event),
					     event->kind == EVENT_CALL ? event->route : UINT64_MAX,
					     called ? event->caller : UINT64_MAX, call_ns },
			 HP_LEN(fields));
	}
	json_close(json, "]");
}

void emit_events(const struct report *report, struct json *json)
{
	struct events_all all;
	uint32_t *index = NULL;

	/* Without the device's part, the reader still changes what events refer to. */
	if (report->events && report->ended && report->collected.device != NULL)
		index = hp_arena_alloc(NAMES * sizeof(*index));
	if (index == NULL) {
		json_null(json, "events");
		return;
	}
	events_end(&all);
	json_open(json, "events", "{");
	json_number(json, "dropped", all.dropped);
	json_number(json, "trackless", all.trackless);
	json_number(json, "shortest_ns", all.shortest_ns);
	add_names(report, json, &all, index);
	add_tracks(json, &all);
	add_details(json);
	add_places(json);
	add_rows(report, json, &all, index);
	json_close(json, "}");
	hp_arena_free(index, NAMES * sizeof(*index));
}
