/*
 * Finds uploads that return downloaded data to the device.
 *
 * A round trip is a download and the next upload, both by one thread.  The upload is from the same
 * host memory, or from other memory, into which host code may have written the downloaded data.  It
 * is at most about twice as large: most of a larger one comes from elsewhere.
 * Host code cannot have done that if nothing has waited for the download.  So a program that only
 * polls has no round trips of the second kind.
 *
 * Memory is bounded: of the addresses that share a slot, only the latest download is known.
 */
#ifndef HP_TRACE_CALLS_ROUND_TRIPS_H
#define HP_TRACE_CALLS_ROUND_TRIPS_H

#include "trace/operation.h"

enum round_trip {
	ROUND_TRIP_NONE,
	ROUND_TRIP_SAME,  /* from the destination of the download */
	ROUND_TRIP_OTHER, /* from elsewhere, the first upload since the download */
};

/*
 * Notes one copy of `buffer` at `site` between host and device, with the lock `trace` held.  If the
 * copy ends a round trip, writes that trip, with ids of copy sites for sites_index() in place of
 * their indices.
 */
enum round_trip round_trips_copied(const struct trace_copy *copy, uint32_t buffer, uint32_t site,
				   struct profile_trips *ret_trip);

/* Notes that a wait for the device has ended, on any thread.  Takes no lock. */
void round_trips_waited(uint64_t leave_ns);

#endif
