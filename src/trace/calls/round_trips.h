/*
 * Finds uploads that return downloaded data to the device.
 *
 * A round trip is a download and the next upload, both by one thread.  The upload is from the same
 * host memory, or from other memory, into which host code may have written the downloaded data.
 * Host code cannot have done that if nothing has waited for the download.  So a program that only
 * polls has no round trips of the second kind.
 *
 * Memory is bounded: of the places that share a slot, only the latest download is known.
 */
#ifndef HP_TRACE_CALLS_ROUND_TRIPS_H
#define HP_TRACE_CALLS_ROUND_TRIPS_H

#include "trace/operation.h"

enum round_trip {
	ROUND_TRIP_NONE,
	ROUND_TRIP_SAME,  /* from the destination of the download */
	ROUND_TRIP_OTHER, /* from elsewhere, the first upload since the download */
};

struct round_trip_sum {
	uint64_t count, bytes; /* bytes: of the smaller copy */
	uint64_t host_ns;      /* host code from the download's return to the upload's call */
	uint64_t copy_ns;      /* inside both calls */
	/* Names of the copy sites of the latest round trip, for sites_index(). */
	uint32_t download_site, upload_site;
};

/*
 * Notes one copy of `buffer` at `site` between host and device, with the lock `trace` held.  If the
 * copy ends a round trip, writes that trip and the buffer of its download.
 */
enum round_trip round_trips_copied(const struct trace_copy *copy, uint32_t buffer, uint32_t site,
				   struct round_trip_sum *ret_trip, uint32_t *ret_from);

/* Notes that a wait for the device has ended, on any thread.  Takes no lock. */
void round_trips_waited(uint64_t leave_ns);

/* Adds one trip to a sum. */
static inline void round_trip_add(struct round_trip_sum *sum, const struct round_trip_sum *trip)
{
	sum->count += trip->count;
	sum->bytes += trip->bytes;
	sum->host_ns += trip->host_ns;
	sum->copy_ns += trip->copy_ns;
	sum->download_site = trip->download_site;
	sum->upload_site = trip->upload_site;
}

#endif
