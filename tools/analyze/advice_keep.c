/*
 * advice_keep.c - copies that vanish when their data stays on the device.
 */
#include "analyze/advice_list.h"
#include "analyze/round_trips.h"
#include "profile/merge.h"
#include "profile/sorted_lists.h"
#include "profile/texts.h"

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
	size_t buffers;                     /* 0: no crossing */
	const struct profile_buffer *first; /* of them */
};

/* Buffers without copy sites cross alone. */
static int by_sites(const void *left, const void *right, void *arg)
{
	const struct profile_trips *a = round_trips_main(left), *b = round_trips_main(right);
	int order = round_trips_have_sites(a) - round_trips_have_sites(b);

	(void)arg;
	if (order == 0 && !round_trips_have_sites(a))
		return sorted_numbers((intptr_t)left, (intptr_t)right);
	return order ?: sorted_numbers(a->download_site, b->download_site)
		?: sorted_numbers(a->upload_site, b->upload_site);
}

static void add_buffer(struct crossing *crossing, const struct profile_buffer *buffer)
{
	const struct profile_trips *same = &buffer->round_trips, *other = &buffer->follows;
	struct profile_trips *sum = &crossing->sum;

	if (crossing->buffers++ == 0)
		crossing->first = buffer;
	sum->count = profile_add(sum->count, profile_add(same->count, other->count));
	sum->bytes = profile_add(sum->bytes, profile_add(same->bytes, other->bytes));
	sum->copy_ns = profile_add(sum->copy_ns, round_trips_copy_ns(buffer));
	sum->host_ns = profile_add(sum->host_ns, round_trips_main(buffer)->host_ns);
}

/* Returns an entry for each buffer; the first one of a crossing has its sum. */
static const struct crossing *crossings_of(const struct profile *profile)
{
	size_t count = profile->buffer_count;
	struct crossing *all = profile_allocate(profile, count, sizeof(*all));
	size_t *first = profile_allocate(profile, count, sizeof(*first));

	merge_find_first(profile, profile->buffers, count, sizeof(*profile->buffers), by_sites,
			 NULL, first);
	for (size_t i = 0; i < count; i++)
		add_buffer(&all[first[i]], &profile->buffers[i]);
	return all;
}

static const struct profile_gap *gap_of(const struct profile *profile,
					const struct crossing *crossing)
{
	return round_trips_gap(profile, round_trips_main(crossing->first));
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
	const struct crossing *all = crossings_of(profile);
	struct advice_trips sum = { 0, 0, 0 };

	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_trips *trips = &all[i].sum;

		sum.copies = profile_add(sum.copies, copies_of(trips));
		sum.copy_ns = profile_add(sum.copy_ns, copying_ns(profile, trips));
		/* Crossings may share the time in between, so the longest counts. */
		if (trips->host_ns <= sum.between_ns)
			continue;
		int64_t ns = between_ns(profile, &all[i]);
		sum.between_ns = ns > sum.between_ns ? ns : sum.between_ns;
	}
	sum.copy_ns = advice_without_copies(profile, sum.copy_ns, 0);
	return sum;
}

/* Says how the copies of a crossing become unnecessary. */
static const char *how_to_keep(const struct profile *profile, const struct crossing *crossing)
{
	const char *trips = text_several(crossing->sum.count, "round trip", "round trips");
	const struct profile_gap *gap = gap_of(profile, crossing);

	if (crossing->sum.host_ns < SHORT_NS * crossing->sum.count)
		return text_made("drop both copies: no host code runs between them in %s", trips);
	return text_made("port the host code in between%s%s: %s in %s", gap != NULL ? ", " : "",
			 gap != NULL ? round_trips_name_gap(profile, gap) : "",
			 text_time(between_ns(profile, crossing)), trips);
}

static void keep_one(const struct profile *profile, struct advice_list *list,
		     const struct crossing *crossing)
{
	const struct profile_trips *trips = &crossing->sum;
	int64_t device_ns = profile_add(advice_async_ns(profile, "h2d", trips->bytes),
					advice_async_ns(profile, "d2h", trips->bytes));
	int64_t copy_ns = copying_ns(profile, trips);
	bool waits = copy_ns < trips->copy_ns, follows;
	bool outlasts = trips->copy_ns >= 0 && device_ns > trips->copy_ns;
	int64_t saves_ns =
		advice_without_copies(profile, outlasts ? device_ns : copy_ns, copies_of(trips));

	if (!advice_is_wanted(profile, list, saves_ns))
		return;
	follows = round_trips_main(crossing->first) == &crossing->first->follows;
	advice_add(
		profile, list,
		&(struct advice){
			.kind = ADVICE_KEEP,
			.saves_ns = saves_ns,
			.is_estimate = outlasts || waits,
			.what = "keep data on the device",
			.where = text_made("%s%s",
					   crossing->buffers > 1
						   ? text_made("%zu buffers: ", crossing->buffers)
						   : "",
					   advice_name_round_trip(profile, crossing->first)),
			.how = how_to_keep(profile, crossing),
			.assumes = text_made(
				"%s%s",
				follows ? "the uploaded data is computed from the downloaded data, "
					  "and no other host code needs either"
					: "no other host code needs the data in between",
				waits ? "; their calls probably wait for kernels" : ""),
		});
}

void advice_keep(const struct profile *profile, struct advice_list *list)
{
	const struct crossing *all = crossings_of(profile);

	for (size_t i = 0; i < profile->buffer_count; i++)
		if (all[i].buffers > 0)
			keep_one(profile, list, &all[i]);
}
