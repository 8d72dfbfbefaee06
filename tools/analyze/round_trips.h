/*
 * Round trips of buffers: data that the program downloads and uploads again, and the host code in
 * between.
 *
 * The data of an upload comes from the same buffer (round_trips) or follows the download of another
 * one (follows).
 */
#ifndef HP_TOOLS_ANALYZE_ROUND_TRIPS_H
#define HP_TOOLS_ANALYZE_ROUND_TRIPS_H

#include "profile/profile.h"

/* Returns the kind of round trips that the buffer makes most. */
const struct profile_trips *round_trips_main(const struct profile_buffer *buffer);

/* Returns the time in the copies of all round trips of the buffer. */
int64_t round_trips_copy_ns(const struct profile_buffer *buffer);

/* True if there are any, and the sites of both copies are known. */
bool round_trips_have_sites(const struct profile_trips *trips);

/* Returns the longest stretch of host code between a download and an upload; NULL: not known. */
const struct profile_gap *round_trips_gap(const struct profile *profile,
					  const struct profile_trips *trips);

/* Returns "from A to B", not escaped. */
const char *round_trips_name_gap(const struct profile *profile, const struct profile_gap *gap);

#endif
