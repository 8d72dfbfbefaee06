/*
 * The copy sites and round trips that an advice is about, and their names.
 */
#ifndef HP_TOOLS_ANALYZE_ADVICE_PLACES_H
#define HP_TOOLS_ANALYZE_ADVICE_PLACES_H

#include "analyze/advice.h"

/* True for an upload or a download. */
bool advice_is_any(const struct profile_row *row);

/*
 * Returns the copy site that took longest in copies that `wanted` accepts; UNKNOWN: there is none.
 */
int64_t advice_largest_site(const struct profile *profile,
			    bool (*wanted)(const struct profile_row *row));
void advice_set_site(const struct profile *profile, struct advice *advice, int64_t site);

/* Returns the name of the place in memory of the profile, not escaped. */
const char *advice_place(const struct profile *profile, const struct profile_frame *frame);

/*
 * Returns, in such memory, the places of both copies of a buffer's round trips, or of the program's
 * largest copies if they are not known.  "": neither are.
 */
const char *advice_name_round_trip(const struct profile *profile,
				   const struct profile_buffer *buffer);

#endif
