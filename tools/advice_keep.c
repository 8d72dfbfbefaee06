/*
 * advice_keep.c - copies that vanish when their data stays on the device.
 */
#include "advice_kinds.h"
#include "show.h"

#include <stdio.h>
#include <string.h>

int64_t advice_copies_ns(const struct profile_buffer *buffer)
{
	return profile_add(buffer->round_trips.copy_ns, buffer->follows.copy_ns);
}

/* Each is a download and an upload. */
static int64_t copies_of(const struct profile_trips *trips)
{
	return profile_add(trips->count, trips->count);
}

static void add_trips(struct advice_trips *sum, const struct profile_trips *trips)
{
	sum->copies = profile_add(sum->copies, copies_of(trips));
	sum->copy_ns = profile_add(sum->copy_ns, trips->copy_ns);
	/* Buffers that are copied together share the time in between. */
	if (trips->host_ns > sum->between_ns)
		sum->between_ns = trips->host_ns;
}

struct advice_trips advice_all_trips(const struct profile *profile)
{
	struct advice_trips sum = { 0, 0, 0 };

	if (profile->buffers == NULL)
		return (struct advice_trips){ UNKNOWN, UNKNOWN, UNKNOWN };
	for (size_t i = 0; i < profile->buffer_count; i++) {
		add_trips(&sum, &profile->buffers[i].round_trips);
		add_trips(&sum, &profile->buffers[i].follows);
	}
	sum.copy_ns = advice_without_copies(profile, sum.copy_ns, 0);
	return sum;
}

static bool is_call(const struct profile_gap_end *end, const char *part)
{
	return end->call != NULL && strstr(end->call, part) != NULL;
}

/*
 * True if the gap is the host code of these round trips: it lies between their copies, or between
 * calls around them, as often and nearly as long.
 */
static bool is_between(const struct profile_gap *gap, const struct profile_trips *trips)
{
	if (is_call(&gap->before, "DtoH") && is_call(&gap->after, "HtoD"))
		return true;
	return gap->before.call != NULL && gap->after.call != NULL && trips->count > 1 &&
	       gap->count >= trips->count - 1 && gap->count - 1 <= trips->count &&
	       (__int128_t)gap->total_ns * 5 >= (__int128_t)trips->host_ns * 4;
}

const struct profile_gap *advice_gap_of(const struct profile *profile,
					const struct profile_trips *trips)
{
	const struct profile_gap *found = NULL;

	for (size_t i = 0; i < profile->gap_count; i++) {
		const struct profile_gap *gap = &profile->gaps[i];

		if (is_between(gap, trips) && (found == NULL || gap->total_ns > found->total_ns))
			found = gap;
	}
	return found;
}

static void keep_one(const struct profile *profile, struct advice_list *list, size_t index)
{
	const struct profile_buffer *buffer = &profile->buffers[index];
	const struct profile_trips *same = &buffer->round_trips, *other = &buffer->follows;
	const struct profile_trips *more = other->count > same->count ? other : same;
	const struct profile_gap *gap = advice_gap_of(profile, more);
	int64_t saves_ns = advice_copies_ns(buffer);
	int64_t bytes = profile_add(same->bytes, other->bytes);
	int64_t device_ns = profile_add(advice_async_ns(profile, "h2d", bytes),
					advice_async_ns(profile, "d2h", bytes));
	bool outlasts = saves_ns >= 0 && device_ns > saves_ns;
	char code[ADVICE_TEXT - 80] = "";

	struct advice *advice =
		advice_add(profile, list, ADVICE_KEEP,
			   advice_without_copies(profile, outlasts ? device_ns : saves_ns,
						 profile_add(copies_of(same), copies_of(other))));
	if (advice == NULL)
		return;
	advice->is_estimate = outlasts;
	advice->buffer = (int64_t)index;
	advice_name_round_trip(profile, buffer, advice->where, sizeof(advice->where));
	SAY(advice->what, "keep round-trip data on the device");
	if (gap != NULL)
		advice_name_gap(profile, gap, code, sizeof(code));
	SAY(advice->how, "port the host code in between%s%s: %s in %s", gap != NULL ? ", " : "",
	    code, show_time(more->host_ns),
	    show_several(profile_add(same->count, other->count), "round trip", "round trips"));
	SAY(advice->assumes, "no other host code needs the data in between");
}

/* Older profiles have no round trips. */
static void keep_any(const struct profile *profile, struct advice_list *list)
{
	struct profile_sum up = profile_moved(profile, "h2d"), down = profile_moved(profile, "d2h");
	char name[ADVICE_TEXT / 3];

	if (up.count < 2 || down.count < 2)
		return;
	struct advice *advice =
		advice_add(profile, list, ADVICE_KEEP, advice_bound_ns(profile, "no_transfers"));
	if (advice == NULL)
		return;
	advice->site = advice_largest_site(profile, advice_is_any);
	if (advice->site >= 0)
		SAY(advice->where, "%s, and other copies",
		    advice_place(profile, &profile->sites[advice->site].frames, false, name,
				 sizeof(name)));
	SAY(advice->what, "keep data on the device between kernels");
	SAY(advice->how,
	    "port the host code that uses it in between: %s of uploads, %s of downloads",
	    show_bytes(up.bytes), show_bytes(down.bytes));
	SAY(advice->assumes, "data stays on the device, and no call copies it");
}

void advice_keep(const struct profile *profile, struct advice_list *list)
{
	if (advice_all_trips(profile).copy_ns < 0 || profile->buffers == NULL ||
	    (profile->buffer_count > 0 && profile->buffers[0].round_trips.count < 0)) {
		keep_any(profile, list);
		return;
	}
	for (size_t i = 0; i < profile->buffer_count; i++)
		keep_one(profile, list, i);
}
