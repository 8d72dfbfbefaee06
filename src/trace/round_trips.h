/*
 * Which uploads bring back what was downloaded before?
 *
 * A round trip is a download and the upload that follows it, both by one thread: of the same place
 * in host memory, or of another, into which host code may have written what came down.
 *
 * Memory is bounded: of places that share a slot, the latest download is known.
 */
#ifndef HP_TRACE_ROUND_TRIPS_H
#define HP_TRACE_ROUND_TRIPS_H

#include "trace/operation.h"

enum round_trip {
	ROUND_TRIP_NONE,
	ROUND_TRIP_SAME,  /* from where it came down to */
	ROUND_TRIP_OTHER, /* from elsewhere, and nothing went up since the download */
};

struct round_trip_sum {
	uint64_t count, bytes; /* bytes: of the smaller one of both copies */
	uint64_t host_ns;      /* host code from the download's return to the upload's call */
	uint64_t copy_ns;      /* inside both calls */
};

/*
 * One copy of `buffer` between host and device, with the lock `trace` held.  If it ends a round
 * trip, writes that trip and the buffer of its download.
 */
enum round_trip round_trips_copied(const struct trace_copy *copy, uint32_t buffer,
				   struct round_trip_sum *ret_trip, uint32_t *ret_from);

/* Adds one trip to a sum. */
static inline void round_trip_add(struct round_trip_sum *sum, const struct round_trip_sum *trip)
{
	sum->count += trip->count;
	sum->bytes += trip->bytes;
	sum->host_ns += trip->host_ns;
	sum->copy_ns += trip->copy_ns;
}

#endif
