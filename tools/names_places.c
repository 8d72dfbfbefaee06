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

/* Is called with each list of native frames; the first `exact` are addresses of instructions. */
typedef void (*visit_function)(void *arg, struct profile *profile, struct profile_frames *frames,
			       size_t exact);

/* Visits the places of the timeline's samples; callers among them hold return addresses. */
static void visit_timeline(struct profile *profile, visit_function visit, void *arg)
{
	size_t count = profile->events.place_count;
	bool *calls = profile_allocate(profile, count, sizeof(*calls));

	for (size_t i = 0; i < count; i++)
		if (profile->events.callers[i] >= 0)
			calls[profile->events.callers[i]] = true;
	for (size_t i = 0; i < count; i++)
		visit(arg, profile, &profile->events.places[i], calls[i] ? 0 : 1);
}

static void visit_lists(struct profile *profile, visit_function visit, void *arg)
{
	for (size_t i = 0; i < profile->site_count; i++)
		visit(arg, profile, &profile->sites[i].frames, 0);
	for (size_t i = 0; i < profile->gap_count; i++) {
		visit(arg, profile, &profile->gaps[i].before.frames, 0);
		visit(arg, profile, &profile->gaps[i].after.frames, 0);
	}
	for (size_t i = 0; i < profile->launch_count; i++)
		visit(arg, profile, &profile->launches[i].frames, 0);
	for (size_t i = 0; i < profile->buffer_count; i++)
		visit(arg, profile, &profile->buffers[i].frames,
		      strcmp(profile->buffers[i].kind, "static") == 0 ? SIZE_MAX : 0);
	for (size_t i = 0; i < profile->sample_count; i++)
		visit(arg, profile, &profile->samples[i].frames, 1);
	visit_timeline(profile, visit, arg);
}

static void count_frames(void *arg, struct profile *profile, struct profile_frames *frames,
			 size_t exact)
{
	(void)profile;
	(void)exact;
	*(size_t *)arg += frames->count;
}

static void add_frames(void *arg, struct profile *profile, struct profile_frames *frames,
		       size_t exact)
{
	struct place_list *list = arg;

	for (size_t i = 0; i < frames->count; i++) {
		struct profile_frame *frame = &frames->items[i];
		struct profile_module *file =
			frame->module >= 0 ? &profile->modules[frame->module] : NULL;

		if (frame->is_python)
			continue;
		list->items[list->count++] = (struct place){
			.profile = profile,
			.frame = frame,
			.file = file != NULL && file->path[0] == '/' ? file : NULL,
			.ended = file != NULL && file->build_id == NULL ? ended_at(profile) : 0,
			.is_return = i >= exact,
		};
	}
}

struct place_list names_places(struct profile *profiles, size_t count)
{
	struct place_list list = { NULL, 0 };
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		visit_lists(&profiles[i], count_frames, &most);
	list.items = profile_allocate(profiles, most, sizeof(*list.items));
	for (size_t i = 0; i < count; i++)
		visit_lists(&profiles[i], add_frames, &list);
	return list;
}

/* Returns a frame of a function that is inlined at the place of `frame`. */
static struct profile_frame inlined_at(const struct profile_frame *frame,
				       const struct profile_frame *inlined)
{
	struct profile_frame made = *inlined;

	made.module = frame->module;
	made.offset = frame->offset;
	made.guessed = frame->guessed;
	made.is_inlined = true;
	return made;
}

static void unfold(void *arg, struct profile *profile, struct profile_frames *frames, size_t exact)
{
	size_t most = frames->count;
	struct profile_frames unfolded = { NULL, 0 };

	(void)arg;
	(void)exact;
	for (size_t i = 0; i < frames->count; i++)
		most += frames->items[i].inlined != NULL ? frames->items[i].inlined->count : 0;
	if (most == frames->count)
		return;
	most = most < PROFILE_FRAMES_MOST ? most : PROFILE_FRAMES_MOST;
	unfolded.items = profile_allocate(profile, most, sizeof(*unfolded.items));
	for (size_t i = 0; i < frames->count; i++) {
		const struct profile_frame *frame = &frames->items[i];
		const struct profile_frames *inlined = frame->inlined;

		/* All frames that follow have room. */
		for (size_t j = 0; inlined != NULL && j < inlined->count &&
				   unfolded.count + frames->count - i < most;
		     j++)
			unfolded.items[unfolded.count++] = inlined_at(frame, &inlined->items[j]);
		unfolded.items[unfolded.count++] = *frame;
	}
	*frames = unfolded;
}

void names_unfold(struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		visit_lists(&profiles[i], unfold, NULL);
}

void names_copy_line(struct profile_frame *to, const struct profile_frame *from)
{
	to->line = from->line;
	to->path = from->path;
	to->number = from->number;
	to->is_verified = from->is_verified;
	to->inlined = from->inlined;
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
	if (frame->line == NULL)
		names_copy_line(frame, stored);
}
