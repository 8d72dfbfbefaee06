/*
 * advice_keep.c - copies that vanish when their data stays on the device.
 */
#include "analyze/advice_list.h"
#include "analyze/advice_places.h"
#include "analyze/round_trips.h"
#include "profile/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_NS 10000 /* of a gap between two calls: it is the work around them */

/* Each is a download and an upload. */
static int64_t copies_of(const struct profile_trips *trips)
{
	return profile_add(trips->count, trips->count);
}

/* Returns the time in both copies of all round trips. */
static int64_t copying_ns(const struct profile *profile, const struct profile_trips *trips)
{
	return advice_copying_ns(profile, trips->copy_ns, profile_add(trips->bytes, trips->bytes),
				 copies_of(trips));
}

/* The round trips of buffers that cross at the same copy sites, as two that a program swaps. */
struct crossing {
	struct profile_trips sum;
	size_t first, *members, buffers; /* indices of the buffers */
	int64_t saves_ns;
	bool outlasts; /* the copies take longer on the device than in their calls */
	bool waits;    /* their calls probably wait for kernels */
};

/* Buffers without copy sites cross alone. */
static int by_sites(const void *left, const void *right, void *arg)
{
	const struct profile_buffer *buffers = arg;
	size_t i = *(const size_t *)left, j = *(const size_t *)right;
	const struct profile_trips *a = round_trips_main(&buffers[i]);
	const struct profile_trips *b = round_trips_main(&buffers[j]);
	int order = round_trips_have_sites(a) - round_trips_have_sites(b);

	if (order == 0 && round_trips_have_sites(a))
		order = (a->download_site > b->download_site) -
			(a->download_site < b->download_site);
	if (order == 0 && round_trips_have_sites(a))
		order = (a->upload_site > b->upload_site) - (a->upload_site < b->upload_site);
	return order != 0 ? order : (i > j) - (i < j);
}

static bool cross_alike(const struct profile_trips *a, const struct profile_trips *b)
{
	return round_trips_have_sites(a) && round_trips_have_sites(b) &&
	       a->download_site == b->download_site && a->upload_site == b->upload_site;
}

static int by_first(const void *left, const void *right)
{
	const struct crossing *a = left, *b = right;

	return (a->first > b->first) - (a->first < b->first);
}

static void add_buffer(struct crossing *crossing, const struct profile_buffer *buffer)
{
	const struct profile_trips *same = &buffer->round_trips, *other = &buffer->follows;
	struct profile_trips *sum = &crossing->sum;

	crossing->buffers++;
	sum->count = profile_add(sum->count, profile_add(same->count, other->count));
	sum->bytes = profile_add(sum->bytes, profile_add(same->bytes, other->bytes));
	sum->copy_ns = profile_add(sum->copy_ns, round_trips_copy_ns(buffer));
	sum->host_ns = profile_add(sum->host_ns, round_trips_main(buffer)->host_ns);
}

struct crossings {
	struct crossing *items; /* in the order of their first buffers */
	size_t count, *members;
};

/* The lists are allocated.  Without memory there are no crossings. */
static struct crossings crossings_of(const struct profile *profile)
{
	const struct profile_buffer *buffers = profile->buffers;
	struct crossings all = { calloc(profile->buffer_count + 1, sizeof(*all.items)), 0,
				 calloc(profile->buffer_count + 1, sizeof(*all.members)) };

	if (all.items == NULL || all.members == NULL || profile->buffer_count == 0)
		return all;
	for (size_t i = 0; i < profile->buffer_count; i++)
		all.members[i] = i;
	qsort_r(all.members, profile->buffer_count, sizeof(*all.members), by_sites,
		profile->buffers);
	for (size_t i = 0; i < profile->buffer_count; i++) {
		size_t *member = &all.members[i];
		const struct profile_trips *trips = round_trips_main(&buffers[*member]);

		if (i == 0 || !cross_alike(round_trips_main(&buffers[member[-1]]), trips))
			all.items[all.count++] =
				(struct crossing){ .first = *member, .members = member };
		add_buffer(&all.items[all.count - 1], &buffers[*member]);
	}
	qsort(all.items, all.count, sizeof(*all.items), by_first);
	return all;
}

static void free_crossings(struct crossings *all)
{
	free(all->items);
	free(all->members);
}

static const struct profile_gap *gap_of(const struct profile *profile,
					const struct crossing *crossing)
{
	return round_trips_gap(profile, round_trips_main(&profile->buffers[crossing->first]));
}

/* Returns the time in the host code between the copies. */
static int64_t between_ns(const struct profile *profile, const struct crossing *crossing)
{
	const struct profile_gap *gap = crossing->buffers > 1 ? gap_of(profile, crossing) : NULL;

	/* Buffers that are copied together share the time in between. */
	return gap != NULL ? advice_least(crossing->sum.host_ns, gap->total_ns)
			   : crossing->sum.host_ns;
}

struct advice_trips advice_all_trips(const struct profile *profile)
{
	struct advice_trips sum = { 0, 0, 0 };

	struct crossings all = crossings_of(profile);
	for (size_t i = 0; i < all.count; i++) {
		const struct profile_trips *trips = &all.items[i].sum;

		sum.copies = profile_add(sum.copies, copies_of(trips));
		sum.copy_ns = profile_add(sum.copy_ns, copying_ns(profile, trips));
		/* Crossings may share the time in between, so the longest counts. */
		if (trips->host_ns <= sum.between_ns)
			continue;
		int64_t ns = between_ns(profile, &all.items[i]);
		sum.between_ns = ns > sum.between_ns ? ns : sum.between_ns;
	}
	free_crossings(&all);
	sum.copy_ns = advice_without_copies(profile, sum.copy_ns, 0);
	return sum;
}

static void estimate(const struct profile *profile, struct crossing *crossing)
{
	const struct profile_trips *trips = &crossing->sum;
	int64_t device_ns = profile_add(advice_async_ns(profile, "h2d", trips->bytes),
					advice_async_ns(profile, "d2h", trips->bytes));

	int64_t copy_ns = copying_ns(profile, trips);

	crossing->waits = copy_ns < trips->copy_ns;
	crossing->outlasts = trips->copy_ns >= 0 && device_ns > trips->copy_ns;
	crossing->saves_ns = advice_without_copies(
		profile, crossing->outlasts ? device_ns : copy_ns, copies_of(trips));
}

static void keep_one(const struct profile *profile, struct advice_list *list,
		     const struct crossing *crossing)
{
	const struct profile_trips *trips = &crossing->sum;
	const struct profile_gap *gap;
	char code[ADVICE_TEXT - 80] = "";
	const char *waits = crossing->waits ? "; their calls probably wait for kernels" : "";
	struct advice *advice = advice_add(profile, list, ADVICE_KEEP, crossing->saves_ns);

	if (advice == NULL)
		return;
	gap = gap_of(profile, crossing);
	advice->is_estimate = crossing->outlasts || crossing->waits;
	advice->buffer = (int64_t)crossing->first;
	if (crossing->buffers > 1)
		SAY(advice->where, "%zu buffers: ", crossing->buffers);
	advice_name_round_trip(profile, &profile->buffers[crossing->first], advice->where,
			       sizeof(advice->where));
	SAY(advice->what, "keep data on the device");
	if (gap != NULL)
		round_trips_name_gap(profile, gap, code, sizeof(code));
	if (trips->host_ns < SHORT_NS * trips->count)
		SAY(advice->how, "drop both copies: no host code runs between them in %s",
		    text_several(trips->count, "round trip", "round trips"));
	else
		SAY(advice->how, "port the host code in between%s%s: %s in %s",
		    gap != NULL ? ", " : "", code, text_time(between_ns(profile, crossing)),
		    text_several(trips->count, "round trip", "round trips"));
	if (round_trips_main(&profile->buffers[crossing->first]) ==
	    &profile->buffers[crossing->first].follows)
		SAY(advice->assumes,
		    "the uploaded data is computed from the downloaded data, and no other host code "
		    "needs either%s",
		    waits);
	else
		SAY(advice->assumes, "no other host code needs the data in between%s", waits);
}

void advice_keep(const struct profile *profile, struct advice_list *list)
{
	struct crossings all = crossings_of(profile);

	for (size_t i = 0; i < all.count; i++) {
		estimate(profile, &all.items[i]);
		keep_one(profile, list, &all.items[i]);
	}
	free_crossings(&all);
}
