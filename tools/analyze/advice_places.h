/*
 * The sites, buffers and round trips that an advice is about, and their names.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_PLACES_H
#define HP_TOOLS_ANALYZE_ADVICE_PLACES_H

#include "analyze/advice.h"

#define ADVICE_PLACE_COLUMNS 60

/* True for an upload or a download. */
bool advice_is_any(const struct profile_row *row);

/*
 * Returns the copy site that took longest in copies that `wanted` accepts; UNKNOWN: there is none.
 */
int64_t advice_largest_site(const struct profile *profile,
			    bool (*wanted)(const struct profile_row *row));
void advice_set_site(const struct profile *profile, struct advice *advice, int64_t site);

/* Write the name of a place or a round trip to `ret`, not escaped. */
const char *advice_place(const struct profile *profile, const struct profile_frames *frames,
			 bool allocation, char *ret, size_t room);
/* Names the largest download and the largest upload; leaves `ret` as it is if there are none. */
bool advice_name_copies(const struct profile *profile, char *ret, size_t room);
void advice_name_round_trip(const struct profile *profile, const struct profile_buffer *buffer,
			    char *ret, size_t room);

#endif
