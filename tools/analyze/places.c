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
	const void **items = profile_allocate(to, count, sizeof(*items));
	size_t merged = 0;

	for (size_t i = 0; i < count; i++) {
		/* Native call stacks may be summed up; Python lines are exact. */
		sites[i].folded &= !is_python(&sites[i].frames);
		items[i] = &sites[i];
	}
	merge_find_first(to, items, count, by_place, to, ret);
	to->sites = profile_allocate(to, count, sizeof(*to->sites));
	to->site_count = merge_equal(to, profile_site_id, items, count, ret, to->sites);
	for (size_t i = 0; i < count; i++)
		ret[i] = ret[i] == i ? merged++ : ret[ret[i]];
}

/* Adds up the repeats that now have the same site. */
static void merge_repeats(struct profile *profile)
{
	struct profile_repeat *repeats = profile->repeats.sites;
	size_t kept = 0;

	for (size_t i = 0; i < profile->repeats.site_count; i++) {
		size_t at = 0;

		while (at < kept && !(repeats[at].site == repeats[i].site &&
				      repeats[at].buffer == repeats[i].buffer &&
				      strcmp(repeats[at].kind, repeats[i].kind) == 0))
			at++;
		if (at == kept) {
			repeats[kept++] = repeats[i];
			continue;
		}
		merge_records(profile, profile_repeat_id,
			      (const void *[]){ &repeats[at], &repeats[i] }, 2, &repeats[at]);
	}
	profile->repeats.site_count = kept;
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
	}
	merge_repeats(profile);
}

void places_merge_sites(struct profile *profiles, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (profiles[i].sites != NULL)
			merge_sites(&profiles[i]);
}
