/*
 * places.c - merges copy sites by place.
 */
#include "analyze/places.h"
#include "profile/merge.h"
#include "profile/sorted_lists.h"
#include "names/names.h"

#include <string.h>

static bool is_python(const struct profile_frames *frames)
{
	return frames->count > 0 && frames->items[0].is_python;
}

/* Returns the shown Python line and its callers in Python; without Python all frames. */
static struct profile_frames shown(const struct profile *profile,
				   const struct profile_frames *frames)
{
	size_t end = 0;

	if (!is_python(frames))
		return *frames;
	const struct profile_frame *line = names_frame(profile, frames, false);
	size_t from = (size_t)(line - frames->items);
	while (end < frames->count && frames->items[end].is_python)
		end++;
	return (struct profile_frames){ frames->items + from, end - from };
}

static int by_place(const void *left, const void *right, void *profile)
{
	const struct profile_site *a = left, *b = right;
	const struct profile_frames a_shown = shown(profile, &a->frames);
	const struct profile_frames b_shown = shown(profile, &b->frames);

	return a->folded != b->folded ? a->folded - b->folded
				      : sorted_frames(profile, &a_shown, &b_shown);
}

void places_merge(struct profile *to, struct profile_site *sites, size_t count, size_t *ret)
{
	/* Native call stacks may be summed up; Python lines are exact. */
	for (size_t i = 0; i < count; i++)
		sites[i].folded &= !is_python(&sites[i].frames);
	merge_find_first(to, sites, count, sizeof(*sites), by_place, to, ret);
	to->sites = sites;
	to->site_count = merge_equal(to, profile_site_id, sites, count, ret);
}

/* `merged` has the new number of each site. */
static void renumber(int64_t *site, const size_t *merged)
{
	if (*site >= 0)
		*site = (int64_t)merged[*site];
}

static void renumber_trips(struct profile_trips *trips, const size_t *merged)
{
	renumber(&trips->download_site, merged);
	renumber(&trips->upload_site, merged);
}

static void merge_sites(struct profile *profile)
{
	size_t *merged = profile_allocate(profile, profile->site_count, sizeof(*merged));

	places_merge(profile, profile->sites, profile->site_count, merged);
	for (size_t i = 0; i < profile->events.row_count; i++)
		renumber(&profile->events.rows[i].site, merged);
	for (size_t i = 0; i < profile->repeats.site_count; i++)
		renumber(&profile->repeats.sites[i].site, merged);
	for (size_t i = 0; i < profile->buffer_count; i++) {
		renumber_trips(&profile->buffers[i].round_trips, merged);
		renumber_trips(&profile->buffers[i].follows, merged);
		renumber(&profile->buffers[i].pinned.unwaited_site, merged);
	}
	struct profile_repeats *repeats = &profile->repeats;
	repeats->site_count =
		merge_list(profile, profile_repeat_id, repeats->sites, repeats->site_count,
			   profile_allocate(profile, repeats->site_count, sizeof(*merged)));
}

void places_merge_sites(struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (profiles[i].sites != NULL)
			merge_sites(&profiles[i]);
}
