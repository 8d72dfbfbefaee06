/*
 * names_places.c - collects the frames of profiles, and finds their stored names.
 */
#include "names_places.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t ended_at(const struct profile *profile)
{
	struct tm when = { 0 };

	if (profile->process.ended_utc == NULL ||
	    strptime(profile->process.ended_utc, "%Y%m%d-%H%M%S", &when) == NULL)
		return 0;
	return timegm(&when);
}

/* The first `exact` frames hold addresses of instructions; the others hold return addresses. */
static void add_frames(struct place_list *list, struct profile *profile,
		       struct profile_frames *frames, size_t exact)
{
	for (size_t i = 0; i < frames->count; i++) {
		struct profile_frame *frame = &frames->items[i];
		struct profile_module *file =
			frame->module >= 0 ? &profile->modules[frame->module] : NULL;

		if (frame->is_python)
			continue;
		list->items[list->count++] = (struct place){
			.profile = profile,
			.frame = frame,
			.file = file != NULL && file->path != NULL && file->path[0] == '/' ? file
											   : NULL,
			.ended = file != NULL && file->build_id == NULL ? ended_at(profile) : 0,
			.is_return = i >= exact,
		};
	}
}

/* Adds the places of the timeline's samples; callers among them hold return addresses. */
static void add_timeline(struct place_list *list, struct profile *profile)
{
	size_t count = profile->events.place_count;
	bool *calls = profile_allocate(profile, count, sizeof(*calls));

	for (size_t i = 0; i < count; i++)
		if (profile->events.callers[i] >= 0)
			calls[profile->events.callers[i]] = true;
	for (size_t i = 0; i < count; i++)
		add_frames(list, profile, &profile->events.places[i], calls[i] ? 0 : 1);
}

struct place_list names_places(struct profile *profiles, size_t count)
{
	struct place_list list = { NULL, 0 };
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		most += (profiles[i].site_count + profiles[i].buffer_count +
			 2 * profiles[i].gap_count + profiles[i].launch_count +
			 profiles[i].sample_count + profiles[i].events.place_count) *
			PROFILE_FRAMES_MOST;
	list.items = profile_allocate(profiles, most, sizeof(*list.items));
	for (size_t i = 0; i < count; i++) {
		struct profile *profile = &profiles[i];

		for (size_t j = 0; j < profile->site_count; j++)
			add_frames(&list, profile, &profile->sites[j].frames, 0);
		for (size_t j = 0; j < profile->gap_count; j++) {
			add_frames(&list, profile, &profile->gaps[j].before.frames, 0);
			add_frames(&list, profile, &profile->gaps[j].after.frames, 0);
		}
		for (size_t j = 0; j < profile->launch_count; j++)
			add_frames(&list, profile, &profile->launches[j].frames, 0);
		for (size_t j = 0; j < profile->buffer_count; j++)
			add_frames(&list, profile, &profile->buffers[j].frames,
				   strcmp(profile->buffers[j].kind, "static") == 0 ? SIZE_MAX : 0);
		for (size_t j = 0; j < profile->sample_count; j++)
			add_frames(&list, profile, &profile->samples[j].frames, 1);
		add_timeline(&list, profile);
	}
	return list;
}

bool names_are_stored(const struct profile *profile, int64_t module)
{
	size_t low = 0, high = profile->name_count;

	/* Finds the first name of this or a later module. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile->names[middle].module < module)
			low = middle + 1;
		else
			high = middle;
	}
	return low < profile->name_count && profile->names[low].module == module;
}

void names_recall(const struct place *place)
{
	const struct profile *profile = place->profile;
	struct profile_frame *frame = place->frame;
	const struct profile_frame *stored =
		profile->name_count == 0 ? NULL
					 : bsearch(frame, profile->names, profile->name_count,
						   sizeof(*profile->names), profile_by_place);

	if (stored == NULL)
		return;
	if (frame->function == NULL)
		frame->function = stored->function;
	if (frame->line == NULL) {
		frame->line = stored->line;
		frame->path = stored->path;
		frame->number = stored->number;
	}
}
