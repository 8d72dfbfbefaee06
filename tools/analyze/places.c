/*
 * places.c - merges copy sites by place.
 */
#include "analyze/places.h"
#include "profile/merge.h"
#include "names/names.h"

#include <stdlib.h>
#include <string.h>

/* Returns the index of the first frame from `at` on that is not inlined; the count if none is. */
static size_t skip_inlined(const struct profile_frames *frames, size_t at)
{
	while (at < frames->count && frames->items[at].is_inlined)
		at++;
	return at;
}

/* Compares frames; returns 0 if profile_same_frame(). */
static int compare_frame(const struct profile_frame *a, const struct profile_frame *b)
{
	int order = a->is_python - b->is_python;

	if (order != 0)
		return order;
	if (!a->is_python)
		return profile_by_place(a, b);
	order = (a->number > b->number) - (a->number < b->number);
	order = order != 0 ? order : strcmp(a->path, b->path);
	return order != 0 ? order : strcmp(a->function, b->function);
}

/*
 * Compares call stacks whose modules are indices into one list.  Inlined functions do not count:
 * their names may be known in one profile only.
 */
static int compare_frames(const struct profile_frames *a, const struct profile_frames *b)
{
	size_t i = skip_inlined(a, 0), j = skip_inlined(b, 0);

	while (i < a->count && j < b->count) {
		int order = compare_frame(&a->items[i], &b->items[j]);

		if (order != 0)
			return order;
		i = skip_inlined(a, i + 1);
		j = skip_inlined(b, j + 1);
	}
	return (i < a->count) - (j < b->count);
}

static int by_place(const void *left, const void *right)
{
	const struct places_item *a = *(const struct places_item *const *)left;
	const struct places_item *b = *(const struct places_item *const *)right;
	int order = strcmp(a->text, b->text);

	order = order != 0 ? order : compare_frames(&a->frames, &b->frames);
	return order != 0 ? order : (a > b) - (a < b);
}

void places_find_first(struct profile *owner, const struct places_item *items, size_t count,
		       size_t *ret)
{
	const struct places_item **sorted = profile_allocate(owner, count, sizeof(*sorted));
	const struct places_item *first = NULL;

	for (size_t i = 0; i < count; i++)
		sorted[i] = &items[i];
	if (count > 0)
		qsort(sorted, count, sizeof(*sorted), by_place);
	for (size_t i = 0; i < count; i++) {
		if (first == NULL || strcmp(first->text, sorted[i]->text) != 0 ||
		    compare_frames(&first->frames, &sorted[i]->frames) != 0)
			first = sorted[i];
		ret[sorted[i] - items] = (size_t)(first - items);
	}
}

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

void places_merge(struct profile *to, const struct profile_site *sites, size_t count, size_t *ret)
{
	struct places_item *places = profile_allocate(to, count, sizeof(*places));
	struct profile_site *shown_sites = profile_allocate(to, count, sizeof(*shown_sites));
	const void **items = profile_allocate(to, count, sizeof(*items));
	size_t merged = 0;

	for (size_t i = 0; i < count; i++) {
		places[i].frames = shown(to, &sites[i].frames);
		/* Native call stacks may be summed up; Python lines are exact. */
		shown_sites[i] = sites[i];
		shown_sites[i].folded &= !is_python(&places[i].frames);
		places[i].text = shown_sites[i].folded ? "folded" : "";
		items[i] = &shown_sites[i];
	}
	places_find_first(to, places, count, ret);
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
