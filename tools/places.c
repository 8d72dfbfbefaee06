/*
 * places.c - merges copy sites by place.
 */
#include "places.h"
#include "names.h"

#include <stdlib.h>
#include <string.h>

/* A profile has few kinds of copies; more rows of one site than that are not added up. */
#define ROWS_LOOKED_AT 64

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

static void add_to(int64_t *sum, int64_t value)
{
	*sum = profile_add(*sum, value);
}

/* The list of the sum has room. */
static void add_row(struct profile_site *sum, const struct profile_row *row)
{
	struct profile_row *same = NULL;

	for (size_t i = 0; i < sum->row_count && i < ROWS_LOOKED_AT && same == NULL; i++)
		if (strcmp(sum->rows[i].direction, row->direction) == 0 &&
		    strcmp(sum->rows[i].memory, row->memory) == 0)
			same = &sum->rows[i];
	if (same == NULL) {
		sum->rows[sum->row_count++] = *row;
		return;
	}
	add_to(&same->count, row->count);
	add_to(&same->bytes, row->bytes);
	add_to(&same->host_ns, row->host_ns);
	add_to(&same->sync_count, row->sync_count);
	add_to(&same->sync_ns, row->sync_ns);
}

/* `room` has room for all rows of the sum's sites. */
static void add_site(struct profile_site *sum, const struct profile_site *site,
		     const struct profile_site *room)
{
	sum->rows = room->rows;
	for (size_t i = 0; i < site->row_count; i++)
		add_row(sum, &site->rows[i]);
}

void places_merge(struct profile *to, const struct profile_site *sites, size_t count, size_t *ret)
{
	struct places_item *items = profile_allocate(to, count, sizeof(*items));
	struct profile_site *rooms = profile_allocate(to, count, sizeof(*rooms));

	for (size_t i = 0; i < count; i++) {
		items[i].frames = shown(to, &sites[i].frames);
		/* Native call stacks may be summed up; Python lines are exact. */
		items[i].text = sites[i].folded && !is_python(&items[i].frames) ? "folded" : "";
	}
	places_find_first(to, items, count, ret);
	for (size_t i = 0; i < count; i++)
		rooms[ret[i]].row_count += sites[i].row_count;
	to->sites = profile_allocate(to, count, sizeof(*to->sites));
	to->site_count = 0;
	for (size_t i = 0; i < count; i++) {
		size_t first = ret[i];
		struct profile_site *room = &rooms[first];

		if (first == i) {
			room->rows = profile_allocate(to, room->row_count, sizeof(*room->rows));
			to->sites[to->site_count] = (struct profile_site){
				.frames = sites[i].frames,
				.folded = items[i].text[0] != '\0',
			};
		}
		ret[i] = first == i ? to->site_count++ : ret[first];
		add_site(&to->sites[ret[i]], &sites[i], room);
	}
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
		add_to(&repeats[at].count, repeats[i].count);
		add_to(&repeats[at].bytes, repeats[i].bytes);
		add_to(&repeats[at].host_ns, repeats[i].host_ns);
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
