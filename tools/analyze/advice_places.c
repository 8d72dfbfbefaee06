/*
 * advice_places.c - names of sites, buffers and gaps, as far as the profile has them.
 */
#include "analyze/advice_places.h"
#include "analyze/advice_python.h"
#include "analyze/round_trips.h"
#include "names/names.h"
#include "profile/texts.h"

#include <stdio.h>
#include <string.h>

const char *advice_place(const struct profile *profile, const struct profile_frames *frames,
			 bool allocation, char *ret, size_t room)
{
	return names_place_short(profile, names_frame(profile, frames, allocation), ret, room,
				 ADVICE_PLACE_COLUMNS);
}

/*
 * Writes the name of a buffer to `ret`, not escaped.  In Python the place is a library's allocator
 * for all tensors, so the size says more.
 */
static const char *buffer_name(const struct profile *profile, const struct profile_buffer *buffer,
			       char *ret, size_t room)
{
	const struct profile_frame *frame = names_frame(profile, &buffer->frames, true);

	if (frame != NULL && buffer->largest_bytes > 0 && advice_runs_python(profile) &&
	    advice_is_installed(profile, frame)) {
		snprintf(ret, room, "%s allocated in %s", text_bytes(buffer->largest_bytes),
			 names_module(profile, frame));
		return ret;
	}
	if (strcmp(buffer->kind, "other") == 0) {
		snprintf(ret, room, "memory that hotpin did not allocate");
		return ret;
	}
	return advice_place(profile, &buffer->frames, true, ret, room);
}

/* Returns the site whose accepted copies took longest; UNKNOWN if there is none. */
int64_t advice_largest_site(const struct profile *profile,
			    bool (*wanted)(const struct profile_row *row))
{
	int64_t site = UNKNOWN, most = 0;

	for (size_t i = 0; i < profile->site_count; i++) {
		int64_t ns = 0;

		for (size_t j = 0; j < profile->sites[i].row_count; j++)
			if (wanted(&profile->sites[i].rows[j]))
				ns = profile_add(ns, profile->sites[i].rows[j].host_ns);
		if (ns > most) {
			most = ns;
			site = (int64_t)i;
		}
	}
	return site;
}

void advice_set_site(const struct profile *profile, struct advice *advice, int64_t site)
{
	advice->site = site;
	if (site >= 0)
		advice_place(profile, &profile->sites[site].frames, false, advice->where,
			     sizeof(advice->where));
}

static bool is_up(const struct profile_row *row)
{
	return strcmp(row->direction, "h2d") == 0;
}

static bool is_down(const struct profile_row *row)
{
	return strcmp(row->direction, "d2h") == 0;
}

bool advice_is_any(const struct profile_row *row)
{
	return is_up(row) || is_down(row);
}

bool advice_name_copies(const struct profile *profile, char *ret, size_t room)
{
	char up[ADVICE_TEXT / 3], down[ADVICE_TEXT / 3];
	int64_t up_site = advice_largest_site(profile, is_up),
		down_site = advice_largest_site(profile, is_down);

	if (up_site < 0 || down_site < 0)
		return false;
	advice_place(profile, &profile->sites[down_site].frames, false, down, sizeof(down));
	advice_place(profile, &profile->sites[up_site].frames, false, up, sizeof(up));
	snprintf(ret, room, "download %s, upload %s", down, up);
	return true;
}

/* Names of buffers are best.  Without hotpin's heap, the places of the largest copies are used. */
void advice_name_round_trip(const struct profile *profile, const struct profile_buffer *buffer,
			    char *ret, size_t room)
{
	char up[ADVICE_TEXT / 3], down[ADVICE_TEXT / 3];
	int64_t after = buffer->follows.after;

	if (strcmp(buffer->kind, "other") == 0 && advice_name_copies(profile, ret, room))
		return;
	buffer_name(profile, buffer, up, sizeof(up));
	snprintf(ret, room, "%s", up);
	if (round_trips_main(buffer) != &buffer->follows || after < 0)
		return;
	buffer_name(profile, &profile->buffers[after], down, sizeof(down));
	if (strcmp(up, down) != 0 || !advice_runs_python(profile))
		snprintf(ret, room, "download to %s, upload of %s", down, up);
}
