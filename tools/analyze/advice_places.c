/*
 * advice_places.c - copy sites by time, and their names.
 */
#include "analyze/advice_list.h"
#include "analyze/round_trips.h"
#include "names/names.h"
#include "profile/texts.h"

#include <string.h>

#define PLACE_COLUMNS 60

const char *advice_place(const struct profile *profile, const struct profile_frame *frame)
{
	return names_place(profile, frame, PLACE_COLUMNS);
}

static const char *place_of(const struct profile *profile, int64_t site)
{
	return advice_place(profile, names_frame(profile, &profile->sites[site].frames, false));
}

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
	bool in_cuda;

	if (site < 0)
		return;
	advice->frame = names_source_frame(profile, &profile->sites[site].frames, &in_cuda);
	advice->where = place_of(profile, site);
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

const char *advice_name_round_trip(const struct profile *profile,
				   const struct profile_buffer *buffer)
{
	const struct profile_trips *trips = round_trips_main(buffer);
	bool known = round_trips_have_sites(trips);
	int64_t up_site = known ? trips->upload_site : advice_largest_site(profile, is_up);
	int64_t down_site = known ? trips->download_site : advice_largest_site(profile, is_down);

	if (up_site < 0 || down_site < 0)
		return "";
	return text_made("download %s, upload %s", place_of(profile, down_site),
			 place_of(profile, up_site));
}
