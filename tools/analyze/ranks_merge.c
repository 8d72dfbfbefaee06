/*
 * ranks_merge.c - adds up the profiles of ranks, by the rules of base/profile.def, and their
 * places.
 *
 * Bounds of the wall time are not merged, because ranks wait for each other.
 */
#include "profile/merge.h"
#include "analyze/ranks.h"
#include "analyze/places.h"

#include <string.h>

struct merged {
	const struct profile *profiles;
	size_t count;
	struct profile *to;
};

/* `numbers` has the index of each module of these frames in the merged list. */
static struct profile_frames frames_in(struct profile *to, const size_t *numbers,
				       const struct profile_frames *frames)
{
	struct profile_frames copy = { profile_allocate(to, frames->count, sizeof(*copy.items)),
				       frames->count };

	for (size_t i = 0; i < frames->count; i++) {
		copy.items[i] = frames->items[i];
		if (copy.items[i].module >= 0)
			copy.items[i].module = (int64_t)numbers[copy.items[i].module];
	}
	return copy;
}

/* The sum of several ranks does not state which buffer was downloaded, and at which sites. */
static void forget_places(struct profile_trips *trips)
{
	trips->after = trips->download_site = trips->upload_site = UNKNOWN;
}

/* The lists of all ranks have been joined. */
static void merge_places(struct merged *merged)
{
	struct profile *to = merged->to;
	size_t *numbers = profile_allocate(to, to->module_count, sizeof(*numbers));
	struct profile_site *site = to->sites;
	struct profile_buffer *buffer = to->buffers;

	to->module_count =
		merge_list(to, profile_module_id, to->modules, to->module_count, numbers);
	for (size_t i = 0; i < merged->count; i++) {
		const struct profile *from = &merged->profiles[i];

		for (size_t j = 0; j < from->site_count; j++, site++)
			site->frames = frames_in(to, numbers, &site->frames);
		for (size_t j = 0; j < from->buffer_count; j++, buffer++)
			buffer->frames = frames_in(to, numbers, &buffer->frames);
		numbers += from->module_count;
	}
	places_merge(to, to->sites, to->site_count,
		     profile_allocate(to, to->site_count, sizeof(size_t)));
	to->buffer_count = merge_list(to, profile_buffer_id, to->buffers, to->buffer_count,
				      profile_allocate(to, to->buffer_count, sizeof(size_t)));
	for (size_t i = 0; i < to->buffer_count; i++) {
		forget_places(&to->buffers[i].round_trips);
		forget_places(&to->buffers[i].follows);
		to->buffers[i].pinned.unwaited_site = UNKNOWN;
	}
}

/* Notes that a table is not of all ranks: `have` of them have it. */
static void note_partial(struct merged *merged, const char *what, size_t have)
{
	struct profile *to = merged->to;

	if (have == 0 || have == merged->count)
		return;
	to->warnings[to->warning_count++] =
		text_made("%s are of %zu of the %zu ranks", what, have, merged->count);
}

static void note_all_partial(struct merged *merged)
{
	size_t sites = 0, python = 0;

	for (size_t i = 0; i < merged->count; i++) {
		sites += merged->profiles[i].sites != NULL;
		python += merged->profiles[i].python != NULL;
	}
	merged->to->warnings = profile_allocate(merged->to, 2, sizeof(*merged->to->warnings));
	note_partial(merged, "call sites and buffers", sites);
	note_partial(merged, "Python lines", python);
}

void ranks_merge(const struct profile *profiles, size_t count, struct profile *ret)
{
	struct merged merged = { profiles, count, ret };

	memset(ret, 0, sizeof(*ret));
	const void **parts = profile_allocate(ret, count, sizeof(*parts));
	for (size_t i = 0; i < count; i++)
		parts[i] = &profiles[i];
	merge_records(ret, profile_id, parts, count, ret);
	ret->path = profiles[0].path;
	ret->backend = profiles[0].backend;
	for (size_t i = 0; i < count; i++) {
		/*
		 * Every rank has times at the call.  Device times count only if all ranks have
		 * them.
		 */
		if (strcmp(profile_view(&profiles[i]), "cupti") != 0)
			ret->backend = profiles[i].backend;
		if (profile_is_unended(&profiles[i]))
			ret->state = profiles[i].state;
	}
	merge_places(&merged);
	note_all_partial(&merged);
}
