/*
 * test_round_trips.c - downloads whose data is uploaded again, by place, thread and size.
 */
#include "check.h"
#include "base/lock.h"
#include "trace/calls/gaps.h"
#include "trace/calls/host_buffers.h"
#include "trace/calls/round_trips.h"
#include "trace/places/sites.h"

#include <pthread.h>
#include <string.h>

static char memory[3 << 20];

static enum round_trip copied(enum trace_direction direction, size_t at, uint64_t bytes,
			      uint64_t enter_ns, uint64_t leave_ns, uint32_t buffer,
			      struct profile_trips *ret_trip)
{
	struct trace_copy copy = { .direction = direction,
				   .bytes = bytes,
				   .enter_ns = enter_ns,
				   .leave_ns = leave_ns,
				   .host = memory + at };

	hp_lock(HP_LOCK_trace);
	enum round_trip kind = round_trips_copied(&copy, buffer, SITES_NOWHERE, ret_trip);
	hp_unlock(HP_LOCK_trace);
	return kind;
}

/* More places than the table has room for: some are forgotten, but none is invented. */
TEST(many_places)
{
	struct profile_trips trip;
	uint32_t found = 0;

	for (uint32_t i = 0; i < 4000; i++)
		copied(TRACE_D2H, i * 64, 64, i, i, i, &trip);
	for (uint32_t i = 0; i < 4000; i++) {
		if (copied(TRACE_H2D, i * 64, 64, 5000, 5000, i, &trip) != ROUND_TRIP_SAME)
			continue;
		CHECK_EQ(trip.after, i);
		found++;
	}
	CHECK(found > 300 && found < 1025);
}

CHECK_MAIN()
