/*
 * profile_events.c - reads the timeline of a profile, with up to hundreds of thousands of rows.
 *
 * Indices out of range are errors.  Times are limited so that sums cannot overflow.
 */
#include "profile_read.h"
#include "base/parse.h"

#include <string.h>

static void read_track(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		TEXT_OF(profile_track, kind),      TEXT_OF(profile_track, name),
		NUMBER_OF(profile_track, device),  NUMBER_OF(profile_track, context),
		NUMBER_OF(profile_track, stream),  NUMBER_OF(profile_track, tid),
		NUMBER_OF(profile_track, threads),
	};
	struct profile_track *track = to;

	reader_need_object(reader, value);
	reader_fields(reader, value, fields, HP_LEN(fields), track);
	if (track->kind == NULL)
		reader_complain(reader, "%skind is missing", reader->where);
}

/* The fields of struct profile_event, in its order, by name.  Older files lack some. */
static const char *const event_fields[] = { "kind",    "track",  "start_ns", "duration_ns",
					    "name",    "bytes",  "site",     "call_track",
					    "call_ns", "detail", "route" };
#define NEEDED_FIELDS 7u

static void read_three(struct reader *reader, json_t *value, const char *name, int64_t ret[3])
{
	json_t *numbers = json_object_get(value, name);

	for (size_t i = 0; i < 3; i++)
		ret[i] = reader_number(reader, json_array_get(numbers, i), name);
}

/* A place of the timeline is one frame; it is kept as a list of one. */
static void read_place(struct reader *reader, json_t *value, void *to)
{
	struct profile_frames *place = to;

	place->items = profile_allocate(reader->profile, 1, sizeof(*place->items));
	place->count = 1;
	profile_read_frame(reader, value, place->items);
}

static void read_callers(struct reader *reader, json_t *events)
{
	struct profile *profile = reader->profile;
	json_t *places = json_object_get(events, "places");

	profile->events.callers = profile_allocate(profile, profile->events.place_count,
						   sizeof(*profile->events.callers));
	for (size_t i = 0; i < profile->events.place_count; i++) {
		json_t *caller = json_object_get(json_array_get(places, i), "caller");

		profile->events.callers[i] = reader_number(reader, caller, "caller");
		if (profile->events.callers[i] >= (int64_t)i)
			reader_complain(reader, "events.places[%zu]: its caller comes later", i);
	}
}

static void read_shape(struct reader *reader, json_t *value, void *to)
{
	static const struct reader_field fields[] = {
		NUMBER_OF(profile_shape, registers),
		NUMBER_OF(profile_shape, static_shared_bytes),
		NUMBER_OF(profile_shape, dynamic_shared_bytes),
	};
	struct profile_shape *shape = to;

	reader_need_object(reader, value);
	read_three(reader, value, "grid", shape->grid);
	read_three(reader, value, "block", shape->block);
	reader_fields(reader, value, fields, HP_LEN(fields), shape);
}

/* Reads the lists that `detail` and `route` refer to; buffers are read elsewhere. */
static void read_details(struct reader *reader, json_t *events)
{
	struct profile *profile = reader->profile;

	profile->events.shapes =
		reader_list(reader, events, "shapes", sizeof(*profile->events.shapes), read_shape,
			    &profile->events.shape_count);
	profile->events.places =
		reader_list(reader, events, "places", sizeof(*profile->events.places), read_place,
			    &profile->events.place_count);
	read_callers(reader, events);
	profile->events.routes = (const char **)reader_list(
		reader, events, "routes", sizeof(*profile->events.routes), reader_line,
		&profile->events.route_count);
}

/* Returns the number of possible details of an event of this kind. */
static size_t details_of(const struct profile *profile, int64_t kind)
{
	switch (kind) {
	case PROFILE_KERNEL:
		return profile->events.shape_count;
	case PROFILE_SAMPLE:
		return profile->events.place_count;
	default:
		return profile->buffer_count;
	}
}

static bool points_past(const struct profile *profile, const struct profile_event *event)
{
	return event->track < 0 || event->track >= (int64_t)profile->events.track_count ||
	       event->name >= (int64_t)profile->events.name_count ||
	       event->site >= (int64_t)profile->site_count ||
	       event->detail >= (int64_t)details_of(profile, event->kind) ||
	       event->route >= (int64_t)profile->events.route_count || event->start_ns < 0 ||
	       event->duration_ns < 0 || event->kind < 0;
}

static bool find_event_fields(struct reader *reader, json_t *events, size_t *ret_places)
{
	const char **names;
	size_t count;

	names = (const char **)reader_list(reader, events, "fields", sizeof(*names), reader_line,
					   &count);
	for (size_t field = 0; field < HP_LEN(event_fields); field++) {
		size_t place = 0;

		while (place < count && strcmp(names[place], event_fields[field]) != 0)
			place++;
		if (place == count && field < NEEDED_FIELDS) {
			reader_complain(reader, "events.fields has no '%s'", event_fields[field]);
			return false;
		}
		ret_places[field] = place < count ? place : SIZE_MAX;
	}
	return true;
}

void profile_read_events(struct reader *reader, json_t *root)
{
	struct profile *profile = reader->profile;
	json_t *events = reader_object(reader, root, "events"), *value;
	size_t places[HP_LEN(event_fields)], index;

	if (events == NULL)
		return;
	size_t before = reader_enter(reader, "events.");
	profile->events.known = true;
	profile->events.dropped =
		reader_number(reader, json_object_get(events, "dropped"), "dropped");
	profile->events.shortest_ns =
		reader_number(reader, json_object_get(events, "shortest_ns"), "shortest_ns");
	profile->events.trackless =
		reader_number(reader, json_object_get(events, "trackless"), "trackless");
	profile->events.names =
		(const char **)reader_list(reader, events, "names", sizeof(*profile->events.names),
					   reader_line, &profile->events.name_count);
	profile->events.tracks =
		reader_short_list(reader, events, "tracks", sizeof(*profile->events.tracks),
				  read_track, &profile->events.track_count);
	read_details(reader, events);
	json_t *rows = json_object_get(events, "rows");
	if (!json_is_array(rows)) {
		reader_complain(reader, "events.rows must be a list");
		return;
	}
	if (!find_event_fields(reader, events, places))
		return;

	struct profile_event *event =
		profile_allocate(profile, json_array_size(rows), sizeof(*event));
	profile->events.rows = event;
	json_array_foreach(rows, index, value)
	{
		int64_t figures[HP_LEN(event_fields)];

		for (size_t field = 0; field < HP_LEN(figures); field++)
			figures[field] = reader_number(reader, json_array_get(value, places[field]),
						       "rows: a figure");
		*event = (struct profile_event){ figures[0], figures[1], figures[2], figures[3],
						 figures[4], figures[5], figures[6], figures[7],
						 figures[8], figures[9], figures[10] };
		if (event->call_track >= (int64_t)profile->events.track_count ||
		    event->call_ns > INT64_MAX / 4)
			event->call_track = UNKNOWN;
		if (points_past(profile, event))
			reader_complain(reader,
					"events.rows[%zu] refers to an entry that does not exist",
					index);
		/* The sum of both must not overflow. */
		if (event->start_ns > INT64_MAX / 4 || event->duration_ns > INT64_MAX / 4)
			reader_complain(reader, "events.rows[%zu] is out of range", index);
		event++;
	}
	profile->events.row_count = json_array_size(rows);
	reader_leave(reader, before);
}
