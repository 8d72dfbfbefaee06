/*
 * timeline.c - arranges the events of a trace in rows.
 */
#include "timeline.h"
#include "show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *timeline_place(const struct profile *profile, const struct profile_frame *frame)
{
	const char *slash;

	if (frame == NULL)
		return "unknown";
	if (frame->function != NULL || frame->module < 0)
		return frame->function != NULL ? frame->function : "no file";
	const char *path = profile->modules[frame->module].path;
	slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : "unknown";
}

const char *timeline_event(const struct profile *profile, const struct profile_event *event)
{
	if (event->kind == PROFILE_SAMPLE)
		return timeline_place(
			profile,
			event->detail < 0 ? NULL : profile->events.places[event->detail].items);
	return event->name >= 0 ? profile->events.names[event->name] : "?";
}

static enum timeline_kind kind_of(const struct profile *profile, const struct profile_event *event)
{
	const char *name = timeline_event(profile, event);
	const char *track = profile->events.tracks[event->track].kind;

	if (strcmp(track, "stages") == 0)
		return TIMELINE_RANGES;
	if (strcmp(track, "hotpin") == 0)
		return TIMELINE_OWN;
	if (strcmp(track, "stream") != 0)
		return TIMELINE_THREAD;
	if (event->kind == PROFILE_COPY && strncmp(name, "h2d", 3) == 0)
		return TIMELINE_UPLOADS;
	if (event->kind == PROFILE_COPY && strncmp(name, "d2h", 3) == 0)
		return TIMELINE_DOWNLOADS;
	return event->kind == PROFILE_COPY || event->kind == PROFILE_MEMSET ? TIMELINE_MEMORY
									    : TIMELINE_KERNELS;
}

static bool is_of_device(enum timeline_kind kind)
{
	return kind >= TIMELINE_UPLOADS && kind <= TIMELINE_KERNELS;
}

static int compare(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int by_group(const struct timeline_slice *a, const struct timeline_slice *b)
{
	int order = compare(a->kind, b->kind);

	order = order != 0 ? order : compare(a->device, b->device);
	return order != 0 ? order : compare(a->track, b->track);
}

/* Within a group by start; of events with the same start, the longer first. */
static int by_place(const void *left, const void *right)
{
	const struct timeline_slice *a = left, *b = right;
	int order = by_group(a, b);

	order = order != 0 ? order : compare(a->event->start_ns, b->event->start_ns);
	order = order != 0 ? order : compare(b->event->duration_ns, a->event->duration_ns);
	return order != 0 ? order : compare(a->event - b->event, 0);
}

static void fill_slices(struct timeline *timeline)
{
	const struct profile *profile = timeline->profile;

	timeline->end_ns = profile->wall_ns > 0 ? profile->wall_ns : 1;
	for (size_t i = 0; i < profile->events.row_count; i++) {
		const struct profile_event *event = &profile->events.rows[i];
		const struct profile_track *track = &profile->events.tracks[event->track];
		enum timeline_kind kind = kind_of(profile, event);
		int64_t end_ns = event->start_ns + event->duration_ns;

		timeline->slices[i] = (struct timeline_slice){
			.event = event,
			.kind = kind,
			.device = is_of_device(kind) ? track->device : UNKNOWN,
			.track = kind == TIMELINE_THREAD || kind == TIMELINE_KERNELS ? event->track
										     : UNKNOWN,
		};
		if (end_ns > timeline->end_ns)
			timeline->end_ns = end_ns;
		timeline->has_devices |= is_of_device(kind) && track->device > 0;
	}
	qsort(timeline->slices, profile->events.row_count, sizeof(*timeline->slices), by_place);
}

/* Assigns each event to the first free row. */
static void lay_out(struct timeline *timeline, struct timeline_group *group)
{
	int64_t ends[TIMELINE_SUBTRACKS_MOST] = { 0 };

	for (size_t i = 0; i < group->count; i++) {
		struct timeline_slice *slice = &group->slices[i];

		while (slice->subtrack < TIMELINE_SUBTRACKS_MOST &&
		       ends[slice->subtrack] > slice->event->start_ns)
			slice->subtrack++;
		if (slice->subtrack == TIMELINE_SUBTRACKS_MOST) {
			timeline->left_out++;
			continue;
		}
		ends[slice->subtrack] = slice->event->start_ns + slice->event->duration_ns;
		group->subtracks = slice->subtrack >= group->subtracks ? slice->subtrack + 1
								       : group->subtracks;
		group->busy_ns = profile_add(group->busy_ns, slice->event->duration_ns);
	}
}

static void find_groups(struct timeline *timeline)
{
	size_t count = timeline->profile->events.row_count;

	for (size_t begin = 0, end; begin < count; begin = end) {
		struct timeline_group *group = &timeline->groups[timeline->group_count++];

		for (end = begin + 1; end < count && by_group(&timeline->slices[begin],
							      &timeline->slices[end]) == 0;)
			end++;
		*group = (struct timeline_group){ .slices = &timeline->slices[begin],
						  .count = end - begin };
		lay_out(timeline, group);
	}
}

/* Keeps the busiest groups, so that the page of a program with a thousand threads opens. */
static void choose_groups(struct timeline *timeline)
{
	for (size_t kept = 0; kept < TIMELINE_GROUPS_MOST; kept++) {
		struct timeline_group *busiest = NULL;

		for (size_t i = 0; i < timeline->group_count; i++) {
			struct timeline_group *group = &timeline->groups[i];

			if (!group->is_kept &&
			    (busiest == NULL || group->busy_ns > busiest->busy_ns))
				busiest = group;
		}
		if (busiest == NULL)
			return;
		busiest->is_kept = true;
	}
	for (size_t i = 0; i < timeline->group_count; i++)
		for (size_t j = 0; !timeline->groups[i].is_kept && j < timeline->groups[i].count;
		     j++)
			timeline->left_out +=
				timeline->groups[i].slices[j].subtrack < TIMELINE_SUBTRACKS_MOST;
}

/* Returns "Thread main 4711", "Kernels, device 0, stream 7". */
void timeline_name(const struct timeline *timeline, const struct timeline_group *group, char *ret)
{
	static const char *const names[] = { "Ranges",       "Thread",          "Uploads",
					     "Downloads",    "Memsets and D2D", "Kernels",
					     "hotpin itself" };
	const struct timeline_slice *slice = &group->slices[0];
	const struct profile_track *track = &timeline->profile->events.tracks[slice->event->track];
	char device[32] = "", stream[32] = "";

	if (slice->event->kind == PROFILE_SAMPLE) {
		snprintf(ret, TIMELINE_NAME, "Host code of %lld", (long long)track->tid);
		return;
	}
	if (slice->kind == TIMELINE_THREAD) {
		snprintf(ret, TIMELINE_NAME, "Thread %s",
			 track->name != NULL && track->name[0] != '\0' ? show_text(track->name, 16)
								       : show_count(track->tid));
		return;
	}
	if (is_of_device(slice->kind) && timeline->has_devices)
		snprintf(device, sizeof(device), ", GPU %lld", (long long)slice->device);
	if (slice->kind == TIMELINE_KERNELS)
		snprintf(stream, sizeof(stream), ", stream %lld", (long long)track->stream);
	snprintf(ret, TIMELINE_NAME, "%s%s%s", names[slice->kind], device, stream);
}

const char *timeline_class(const struct timeline_group *group)
{
	static const char *const classes[TIMELINE_KINDS] = { "range",   "calls",   "h2d", "d2h",
							     "kernels", "kernels", "own" };

	return classes[group->slices[0].kind];
}

bool timeline_shows(const struct timeline_group *group, const struct timeline_slice *slice)
{
	return group->is_kept && slice->subtrack < TIMELINE_SUBTRACKS_MOST;
}

void timeline_make(struct profile *profile, struct timeline *ret)
{
	size_t count = profile->events.row_count;

	*ret = (struct timeline){ .profile = profile };
	ret->slices = profile_allocate(profile, count, sizeof(*ret->slices));
	ret->groups = profile_allocate(profile, count, sizeof(*ret->groups));
	fill_slices(ret);
	find_groups(ret);
	choose_groups(ret);
}
