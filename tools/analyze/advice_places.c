/*
 * advice_places.c - copy sites by time, and their names.
 */
#include "analyze/advice_places.h"
#include "analyze/round_trips.h"
#include "names/names.h"
#include "profile/texts.h"

#include <stdio.h>
#include <string.h>

const char *advice_place(const struct profile *profile, const struct profile_frames *frames,
			 char *ret, size_t room)
{
	return names_place_short(profile, names_frame(profile, frames, false), ret, room,
				 ADVICE_PLACE_COLUMNS);
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
		advice_place(profile, &profile->sites[site].frames, advice->where,
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

void advice_name_round_trip(const struct profile *profile, const struct profile_buffer *buffer,
			    char *ret, size_t room)
{
	const struct profile_trips *trips = round_trips_main(buffer);
	bool known = round_trips_have_sites(trips);
	int64_t up_site = known ? trips->upload_site : advice_largest_site(profile, is_up);
	int64_t down_site = known ? trips->download_site : advice_largest_site(profile, is_down);
	char up[ADVICE_TEXT / 3], down[ADVICE_TEXT / 3];

	if (up_site < 0 || down_site < 0)
		return;
	advice_place(profile, &profile->sites[down_site].frames, down, sizeof(down));
	advice_place(profile, &profile->sites[up_site].frames, up, sizeof(up));
	snprintf(ret + strlen(ret), room - strlen(ret), "download %s, upload %s", down, up);
}
