/*
 * advice_keep.c - copies that vanish when their data stays on the device.
 */
#include "advice_kinds.h"
#include "names.h"
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

static bool has_sites(const struct profile_trips *trips)
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
	return has_sites(trips) && is_nearly_as_long(gap, trips) &&
	       is_same_place(profile, &gap->before.frames,
			     &profile->sites[trips->download_site].frames) &&
	       is_same_place(profile, &gap->after.frames,
			     &profile->sites[trips->upload_site].frames);
}

/*
 * True if the gap can be the host code of these round trips: it lies between copies, or between
 * calls around them, as often and nearly as long.
 */
static bool is_alike(const struct profile_gap *gap, const struct profile_trips *trips)
{
	if (!has_sites(trips) && is_call(&gap->before, "DtoH") && is_call(&gap->after, "HtoD"))
		return true;
	return gap->before.call != NULL && gap->after.call != NULL && trips->count > 1 &&
	       gap->count >= trips->count - 1 && gap->count - 1 <= trips->count &&
	       is_nearly_as_long(gap, trips);
}

const struct profile_gap *advice_gap_of(const struct profile *profile,
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

/* Returns the kind of round trips that the buffer makes most. */
static const struct profile_trips *most_of(const struct profile_buffer *buffer)
{
	return buffer->follows.count > buffer->round_trips.count ? &buffer->follows
								 : &buffer->round_trips;
}

/* True if both buffers cross at the same copy sites, as two that a program swaps. */
static bool cross_alike(const struct profile_buffer *a, const struct profile_buffer *b)
{
	const struct profile_trips *x = most_of(a), *y = most_of(b);

	return a == b || (has_sites(x) && has_sites(y) && x->download_site == y->download_site &&
			  x->upload_site == y->upload_site);
}

/* The round trips of buffers that cross at the same copy sites. */
struct crossing {
	struct profile_trips sum;
	const struct profile_gap *gap; /* NULL: not known */
	size_t buffers;
};

/* Returns the crossing whose first buffer this is; no buffers: an earlier one is the first. */
static struct crossing crossing_of(const struct profile *profile, size_t first)
{
	const struct profile_buffer *buffers = profile->buffers;
	struct crossing made = { .sum = *most_of(&buffers[first]) };

	made.sum.count = made.sum.bytes = made.sum.host_ns = made.sum.copy_ns = 0;
	for (size_t i = 0; i < profile->buffer_count; i++) {
		const struct profile_trips *same = &buffers[i].round_trips;
		const struct profile_trips *other = &buffers[i].follows;

		if (!cross_alike(&buffers[first], &buffers[i]))
			continue;
		if (i < first)
			return (struct crossing){ .buffers = 0 };
		made.buffers++;
		made.sum.count =
			profile_add(made.sum.count, profile_add(same->count, other->count));
		made.sum.bytes =
			profile_add(made.sum.bytes, profile_add(same->bytes, other->bytes));
		made.sum.copy_ns = profile_add(made.sum.copy_ns, advice_copies_ns(&buffers[i]));
		made.sum.host_ns = profile_add(made.sum.host_ns, most_of(&buffers[i])->host_ns);
	}
	made.gap = advice_gap_of(profile, most_of(&buffers[first]));
	/* Buffers that are copied together share the time in between. */
	if (made.buffers > 1 && made.gap != NULL)
		made.sum.host_ns = advice_least(made.sum.host_ns, made.gap->total_ns);
	return made;
}

struct advice_trips advice_all_trips(const struct profile *profile)
{
	struct advice_trips sum = { 0, 0, 0 };

	if (profile->buffers == NULL)
		return (struct advice_trips){ UNKNOWN, UNKNOWN, UNKNOWN };
	for (size_t i = 0; i < profile->buffer_count; i++) {
		struct crossing crossing = crossing_of(profile, i);

		sum.copies = profile_add(sum.copies, copies_of(&crossing.sum));
		sum.copy_ns = profile_add(sum.copy_ns, crossing.sum.copy_ns);
		/* Crossings may share the time in between. */
		if (crossing.sum.host_ns > sum.between_ns)
			sum.between_ns = crossing.sum.host_ns;
	}
	sum.copy_ns = advice_without_copies(profile, sum.copy_ns, 0);
	return sum;
}

/* True if the name is an entry of a list like "a; b". */
static bool is_listed(const char *list, const char *name)
{
	size_t length = strlen(name);

	for (const char *at = strstr(list, name); at != NULL; at = strstr(at + 1, name))
		if ((at == list || (at - list > 1 && strncmp(at - 2, "; ", 2) == 0)) &&
		    (at[length] == '\0' || at[length] == ';'))
			return true;
	return false;
}

/* Appends the different names of the buffers of a crossing. */
static void name_buffers(const struct profile *profile, size_t first, char *ret, size_t room)
{
	const struct profile_buffer *buffers = profile->buffers;
	const char *names = ret + strlen(ret);
	char name[ADVICE_TEXT];

	for (size_t i = first; i < profile->buffer_count; i++) {
		size_t used = strlen(ret);

		if (!cross_alike(&buffers[first], &buffers[i]))
			continue;
		name[0] = '\0';
		advice_name_round_trip(profile, &buffers[i], name, sizeof(name));
		if (name[0] != '\0' && !is_listed(names, name))
			snprintf(ret + used, room - used, "%s%s", names[0] != '\0' ? "; " : "",
				 name);
	}
}

static void keep_one(const struct profile *profile, struct advice_list *list, size_t index)
{
	struct crossing crossing = crossing_of(profile, index);
	const struct profile_trips *trips = &crossing.sum;
	int64_t device_ns = profile_add(advice_async_ns(profile, "h2d", trips->bytes),
					advice_async_ns(profile, "d2h", trips->bytes));
	bool outlasts = trips->copy_ns >= 0 && device_ns > trips->copy_ns;
	char code[ADVICE_TEXT - 80] = "";

	if (crossing.buffers == 0)
		return;
	struct advice *advice =
		advice_add(profile, list, ADVICE_KEEP,
			   advice_without_copies(profile, outlasts ? device_ns : trips->copy_ns,
						 copies_of(trips)));
	if (advice == NULL)
		return;
	advice->is_estimate = outlasts;
	advice->buffer = (int64_t)index;
	if (crossing.buffers > 1)
		SAY(advice->where, "%zu buffers: ", crossing.buffers);
	name_buffers(profile, index, advice->where, sizeof(advice->where));
	SAY(advice->what, "keep round-trip data on the device");
	if (crossing.gap != NULL)
		advice_name_gap(profile, crossing.gap, code, sizeof(code));
	SAY(advice->how, "port the host code in between%s%s: %s in %s",
	    crossing.gap != NULL ? ", " : "", code, show_time(trips->host_ns),
	    show_several(trips->count, "round trip", "round trips"));
	if (most_of(&profile->buffers[index]) == &profile->buffers[index].follows)
		SAY(advice->assumes, "the uploaded data is computed from the downloaded data, and "
				     "no other host code needs either");
	else
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
