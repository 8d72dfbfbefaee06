/*
 * round_trips.c - finds the host code between the copies of a round trip, among the gaps between
 * CUDA calls.
 */
#include "analyze/round_trips.h"
#include "names/names.h"
#include "profile/texts.h"

#include <string.h>

#define PLACE_MOST 60 /* characters of each end of a gap */

const struct profile_trips *round_trips_main(const struct profile_buffer *buffer)
{
	return buffer->follows.count > buffer->round_trips.count ? &buffer->follows
								 : &buffer->round_trips;
}

int64_t round_trips_copy_ns(const struct profile_buffer *buffer)
{
	return profile_add(buffer->round_trips.copy_ns, buffer->follows.copy_ns);
}

static bool is_call(const struct profile_gap_end *end, const char *part)
{
	return end->call != NULL && strstr(end->call, part) != NULL;
}

/* True if both were called from one place of the program, by the same callers. */
static bool is_same_place(const struct profile *profile, const struct profile_frames *a,
			  const struct profile_frames *b)
{
	const struct profile_frame *x = names_frame(profile, a, false);
	const struct profile_frame *y = names_frame(profile, b, false);

	if (x == NULL || y == NULL)
		return false;
	for (; x < a->items + a->count && y < b->items + b->count; x++, y++)
		if (!profile_same_frame(x, y))
			return false;
	return true;
}

bool round_trips_have_sites(const struct profile_trips *trips)
{
	return trips->count > 0 && trips->download_site >= 0 && trips->upload_site >= 0;
}

static bool is_nearly_as_long(const struct profile_gap *gap, const struct profile_trips *trips)
{
	return (__int128_t)gap->total_ns * 5 >= (__int128_t)trips->host_ns * 4;
}

/*
 * True if the gap lies between the copy sites of these round trips.  Data that also crosses at
 * other sites has more host code than this gap.
 */
static bool is_at_sites(const struct profile *profile, const struct profile_gap *gap,
			const struct profile_trips *trips)
{
	return round_trips_have_sites(trips) && is_nearly_as_long(gap, trips) &&
	       is_same_place(profile, &gap->before.frames,
			     &profile->sites[trips->download_site].frames) &&
	       is_same_place(profile, &gap->after.frames,
			     &profile->sites[trips->upload_site].frames);
}

/*
 * True if the gap can be the host code of these round trips: it lies between copies, or between
 * calls around them as often, and is about as long.
 */
static bool is_alike(const struct profile_gap *gap, const struct profile_trips *trips)
{
	bool copies = !round_trips_have_sites(trips) && is_call(&gap->before, "DtoH") &&
		      is_call(&gap->after, "HtoD");
	bool as_often = gap->before.call != NULL && gap->after.call != NULL && trips->count > 1 &&
			gap->count >= trips->count - 1 && gap->count - 1 <= trips->count;

	return (copies || as_often) && is_nearly_as_long(gap, trips) &&
	       gap->total_ns <= trips->host_ns / 4 * 5;
}

const struct profile_gap *round_trips_gap(const struct profile *profile,
					  const struct profile_trips *trips)
{
	const struct profile_gap *found = NULL;
	bool is_found_at_sites = false;

	for (size_t i = 0; i < profile->gap_count; i++) {
		const struct profile_gap *gap = &profile->gaps[i];
		bool at_sites = is_at_sites(profile, gap, trips);

		if (at_sites < is_found_at_sites || !(at_sites || is_alike(gap, trips)))
			continue;
		if (found == NULL || at_sites > is_found_at_sites ||
		    gap->total_ns > found->total_ns)
			found = gap;
		is_found_at_sites = at_sites;
	}
	return found;
}

static const char *end_of(const struct profile *profile, const struct profile_gap_end *end)
{
	return names_place(profile, names_frame(profile, &end->frames, false), PLACE_MOST);
}

const char *round_trips_name_gap(const struct profile *profile, const struct profile_gap *gap)
{
	return text_made("from %s to %s", end_of(profile, &gap->before),
			 end_of(profile, &gap->after));
}
