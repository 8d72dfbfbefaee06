/*
 * places.c - merges copy sites by place.
 */
#include "places.h"
#include "names.h"

#include <string.h>

/* Returns the index of the first frame from `at` on that is not inlined; the count if none is. */
static size_t skip_inlined(const struct profile_frames *frames, size_t at)
{
	while (at < frames->count && frames->items[at].is_inlined)
		at++;
	return at;
}

bool places_are_equal(const struct profile_frames *a, const struct profile_frames *b)
{
	size_t i = skip_inlined(a, 0), j = skip_inlined(b, 0);

	while (i < a->count && j < b->count && profile_same_frame(&a->items[i], &b->items[j])) {
		i = skip_inlined(a, i + 1);
		j = skip_inlined(b, j + 1);
	}
	return i == a->count && j == b->count;
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

static void add_row(struct profile_site *site, const struct profile_row *row)
{
	struct profile_row *sum = NULL;

	for (size_t i = 0; i < site->row_count && sum == NULL; i++)
		if (strcmp(site->rows[i].direction, row->direction) == 0 &&
		    strcmp(site->rows[i].memory, row->memory) == 0)
			sum = &site->rows[i];
	if (sum == NULL) {
		site->rows[site->row_count++] = *row;
		return;
	}
	add_to(&sum->count, row->count);
	add_to(&sum->bytes, row->bytes);
	add_to(&sum->host_ns, row->host_ns);
	add_to(&sum->sync_count, row->sync_count);
	add_to(&sum->sync_ns, row->sync_ns);
}

static void add_rows(struct profile *to, struct profile_site *sum, const struct profile_site *site)
{
	struct profile_row *rows =
		profile_allocate(to, sum->row_count + site->row_count, sizeof(*rows));

	if (sum->row_count > 0)
		memcpy(rows, sum->rows, sum->row_count * sizeof(*rows));
	sum->rows = rows;
	for (size_t i = 0; i < site->row_count; i++)
		add_row(sum, &site->rows[i]);
}

static void add_main(struct profile_site *site, const struct profile_main *seen)
{
	size_t at = 0;

	while (at < site->main_count && !places_are_equal(&site->mains[at].frames, &seen->frames))
		at++;
	if (at == site->main_count)
		site->mains[site->main_count++] = *seen;
	else
		add_to(&site->mains[at].looks, seen->looks);
}

static void add_mains(struct profile *to, struct profile_site *sum, const struct profile_site *site)
{
	if (site->mains == NULL)
		return;
	struct profile_main *mains =
		profile_allocate(to, sum->main_count + site->main_count, sizeof(*mains));
	if (sum->main_count > 0)
		memcpy(mains, sum->mains, sum->main_count * sizeof(*mains));
	sum->main_looks = sum->mains == NULL ? site->main_looks
					     : profile_add(sum->main_looks, site->main_looks);
	sum->mains = mains;
	for (size_t i = 0; i < site->main_count; i++)
		add_main(sum, &site->mains[i]);
}

size_t places_add_site(struct profile *to, const struct profile_site *site)
{
	struct profile_frames place = shown(to, &site->frames);
	/* Native call stacks may be summed up; Python lines are exact. */
	bool folded = site->folded && !is_python(&place);
	size_t at = 0;

	while (at < to->site_count &&
	       !(to->sites[at].folded == folded && places_are_equal(&to->sites[at].place, &place)))
		at++;
	if (at == to->site_count)
		to->sites[to->site_count++] = (struct profile_site){
			.frames = site->frames,
			.place = place,
			.folded = folded,
			.main_looks = UNKNOWN,
		};
	add_rows(to, &to->sites[at], site);
	add_mains(to, &to->sites[at], site);
	return at;
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
	const struct profile_site *sites = profile->sites;
	size_t count = profile->site_count;
	size_t *merged = profile_allocate(profile, count, sizeof(*merged));

	profile->sites = profile_allocate(profile, count, sizeof(*sites));
	profile->site_count = 0;
	for (size_t i = 0; i < count; i++)
		merged[i] = places_add_site(profile, &sites[i]);
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
