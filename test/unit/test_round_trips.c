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
			      struct round_trip_sum *ret_trip, uint32_t *ret_from)
{
	struct trace_copy copy = { .direction = direction,
				   .bytes = bytes,
				   .enter_ns = enter_ns,
				   .leave_ns = leave_ns,
				   .host = memory + at };

	hp_lock(HP_LOCK_trace);
	enum round_trip kind = round_trips_copied(&copy, buffer, SITES_NOWHERE, ret_trip, ret_from);
	hp_unlock(HP_LOCK_trace);
	return kind;
}

/* Makes the copies of the rows in order; a row states place, size and the expected kind. */
TEST(kinds)
{
	static const struct {
		enum trace_direction direction;
		size_t at;
		uint64_t bytes;
		enum round_trip kind;
		uint32_t from;
	} rows[] = {
		/* Nothing was downloaded yet. */
		{ TRACE_H2D, 0, 8192, ROUND_TRIP_NONE, 0 },
		/* Downloaded, and uploaded from there, once. */
		{ TRACE_D2H, 0, 8192, ROUND_TRIP_NONE, 0 },
		{ TRACE_H2D, 0, 8192, ROUND_TRIP_SAME, 1 },
		{ TRACE_H2D, 0, 8192, ROUND_TRIP_NONE, 0 },
		/* Downloaded here, uploaded there; the next upload belongs to no download. */
		{ TRACE_D2H, 1 << 20, 8192, ROUND_TRIP_NONE, 0 },
		{ TRACE_H2D, 0, 8192, ROUND_TRIP_OTHER, 4 },
		{ TRACE_H2D, 0, 8192, ROUND_TRIP_NONE, 0 },
		/* Small results and small parameters do not count. */
		{ TRACE_D2H, 1 << 20, 4, ROUND_TRIP_NONE, 0 },
		{ TRACE_H2D, 0, 8192, ROUND_TRIP_NONE, 0 },
		{ TRACE_D2H, 1 << 20, 8192, ROUND_TRIP_NONE, 0 },
		{ TRACE_H2D, 64, 4, ROUND_TRIP_NONE, 0 },
		/*
		 * The largest download represents all; a small one is only recognized by its place.
		 */
		{ TRACE_D2H, 2 << 20, 4, ROUND_TRIP_NONE, 0 },
		{ TRACE_H2D, 128, 8192, ROUND_TRIP_OTHER, 9 },
		{ TRACE_H2D, 2 << 20, 4, ROUND_TRIP_SAME, 11 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct round_trip_sum trip;
		uint32_t from = 0;

		if (!CHECK_EQ(copied(rows[i].direction, rows[i].at, rows[i].bytes, i * 10,
				     i * 10 + 3, (uint32_t)i, &trip, &from),
			      rows[i].kind) ||
		    !CHECK_EQ(from, rows[i].from))
			printf("# row %zu\n", i);
	}
}

TEST(figures)
{
	struct round_trip_sum trip, sum = { 0 };
	uint32_t from = 0;

	copied(TRACE_D2H, 0, 5000, 100, 150, 7, &trip, &from);
	CHECK_EQ(copied(TRACE_H2D, 0, 9000, 1150, 1250, 7, &trip, &from), ROUND_TRIP_SAME);
	CHECK_EQ(trip.count, 1);
	CHECK_EQ(trip.bytes, 5000);
	CHECK_EQ(trip.host_ns, 1000);
	CHECK_EQ(trip.copy_ns, 150);
	CHECK_EQ(from, 7);
	round_trip_add(&sum, &trip);
	round_trip_add(&sum, &trip);
	CHECK(sum.count == 2 && sum.bytes == 10000 && sum.host_ns == 2000 && sum.copy_ns == 300);
	/* The smaller of the two counts. */
	copied(TRACE_D2H, 0, 9000, 2000, 2100, 7, &trip, &from);
	CHECK_EQ(copied(TRACE_H2D, 0, 6000, 2200, 2300, 7, &trip, &from), ROUND_TRIP_SAME);
	CHECK_EQ(trip.bytes, 6000);
}

/* Other driver calls in between are not host code. */
TEST(calls_in_between)
{
	const void *frame = __builtin_frame_address(0);
	struct round_trip_sum trip;
	uint32_t from;

	CHECK_EQ(gaps_start(1), 0);
	copied(TRACE_D2H, 0, 5000, 100, 150, 7, &trip, &from);
	gaps_called(1, 100, 150, frame, NULL);
	gaps_called(2, 650, 950, frame, NULL);
	CHECK_EQ(copied(TRACE_H2D, 0, 9000, 1150, 1250, 7, &trip, &from), ROUND_TRIP_SAME);
	CHECK_EQ(trip.host_ns, 700);
	gaps_called(3, 1150, 1250, frame, NULL);
	copied(TRACE_D2H, 0, 5000, 1300, 1400, 7, &trip, &from);
	gaps_called(1, 1300, 1400, frame, NULL);
	copied(TRACE_H2D, 0, 5000, 1410, 1420, 7, &trip, &from);
	CHECK_EQ(trip.host_ns, 10);
}

/* Host code cannot have read a download that nothing has waited for. */
TEST(enqueued_downloads)
{
	enum { DOWN, UP, WAIT };
	/* UP: uploads other memory.  Each row happens at `at_us`. */
	static const struct {
		int what;
		enum trace_memory memory;
		uint64_t at_us;
		enum round_trip kind;
	} rows[] = {
		{ DOWN, TRACE_UNKNOWN, 1000, ROUND_TRIP_NONE },
		{ UP, TRACE_UNKNOWN, 1010, ROUND_TRIP_NONE },
		{ DOWN, TRACE_UNKNOWN, 1020, ROUND_TRIP_NONE },
		{ WAIT, TRACE_UNKNOWN, 1030, ROUND_TRIP_NONE },
		{ UP, TRACE_UNKNOWN, 1040, ROUND_TRIP_OTHER },
		/* Downloads of these kinds are complete on return. */
		{ DOWN, TRACE_PAGEABLE, 1050, ROUND_TRIP_NONE },
		{ UP, TRACE_UNKNOWN, 1060, ROUND_TRIP_OTHER },
		{ DOWN, TRACE_STAGED, 1070, ROUND_TRIP_NONE },
		{ UP, TRACE_UNKNOWN, 1080, ROUND_TRIP_OTHER },
		{ DOWN, TRACE_PROMOTED, 1090, ROUND_TRIP_NONE },
		{ UP, TRACE_UNKNOWN, 1100, ROUND_TRIP_OTHER },
		/* Such a download waits for earlier ones; the first one is the largest. */
		{ DOWN, TRACE_UNKNOWN, 1110, ROUND_TRIP_NONE },
		{ DOWN, TRACE_PROMOTED, 1120, ROUND_TRIP_NONE },
		{ UP, TRACE_UNKNOWN, 1130, ROUND_TRIP_OTHER },
		/* Another thread notes an earlier wait later. */
		{ DOWN, TRACE_UNKNOWN, 1140, ROUND_TRIP_NONE },
		{ WAIT, TRACE_UNKNOWN, 1160, ROUND_TRIP_NONE },
		{ WAIT, TRACE_UNKNOWN, 1130, ROUND_TRIP_NONE },
		{ UP, TRACE_UNKNOWN, 1170, ROUND_TRIP_OTHER },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct trace_copy copy = { .direction = rows[i].what == UP ? TRACE_H2D : TRACE_D2H,
					   .memory = rows[i].memory,
					   .bytes = 8192,
					   .enter_ns = rows[i].at_us * 1000,
					   .leave_ns = rows[i].at_us * 1000 + 10,
					   .host = memory + (rows[i].what == UP ? 8192 : 0) };
		enum round_trip kind = ROUND_TRIP_NONE;
		struct round_trip_sum trip;
		uint32_t from;

		hp_lock(HP_LOCK_trace);
		if (rows[i].what == WAIT)
			round_trips_waited(copy.leave_ns);
		else
			kind = round_trips_copied(&copy, 1, SITES_NOWHERE, &trip, &from);
		hp_unlock(HP_LOCK_trace);
		if (!CHECK_EQ(kind, rows[i].kind))
			printf("# row %zu\n", i);
	}
}

/* The same memory needs no host code. */
TEST(enqueued_and_uploaded_again)
{
	struct trace_copy copy = {
		.direction = TRACE_D2H, .memory = TRACE_UNKNOWN, .bytes = 8192, .host = memory
	};
	struct round_trip_sum trip;
	uint32_t from;

	hp_lock(HP_LOCK_trace);
	round_trips_copied(&copy, 1, SITES_NOWHERE, &trip, &from);
	copy.direction = TRACE_H2D;
	enum round_trip kind = round_trips_copied(&copy, 1, SITES_NOWHERE, &trip, &from);
	hp_unlock(HP_LOCK_trace);
	CHECK_EQ(kind, ROUND_TRIP_SAME);
}

static void *goes_up(void *arg)
{
	struct round_trip_sum trip;
	uint32_t from;

	*(enum round_trip *)arg = copied(TRACE_H2D, 0, 8192, 20, 30, 1, &trip, &from);
	return NULL;
}

TEST(another_thread)
{
	enum round_trip kind = ROUND_TRIP_SAME;
	struct round_trip_sum trip;
	uint32_t from;
	pthread_t thread;

	copied(TRACE_D2H, 0, 8192, 0, 10, 1, &trip, &from);
	CHECK_EQ(pthread_create(&thread, NULL, goes_up, &kind), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(kind, ROUND_TRIP_NONE);
	CHECK_EQ(copied(TRACE_H2D, 0, 8192, 20, 30, 1, &trip, &from), ROUND_TRIP_SAME);
}

/* More places than the table has room for: some are forgotten, but none is invented. */
TEST(many_places)
{
	struct round_trip_sum trip;
	uint32_t from, found = 0;

	for (uint32_t i = 0; i < 4000; i++)
		copied(TRACE_D2H, i * 64, 64, i, i, i, &trip, &from);
	for (uint32_t i = 0; i < 4000; i++) {
		if (copied(TRACE_H2D, i * 64, 64, 5000, 5000, i, &trip, &from) != ROUND_TRIP_SAME)
			continue;
		CHECK_EQ(from, i);
		found++;
	}
	CHECK(found > 300 && found < 1025);
}

TEST(sums_of_buffers)
{
	struct trace_copy download = { .direction = TRACE_D2H,
				       .bytes = 8192,
				       .enter_ns = 0,
				       .leave_ns = 10,
				       .host = memory,
				       .allocator = 5 },
			  upload = download, other = download;
	struct host_buffer buffer;

	upload.direction = other.direction = TRACE_H2D;
	upload.enter_ns = other.enter_ns = 50;
	upload.leave_ns = other.leave_ns = 70;
	other.allocator = 9;
	other.host = memory + 65536;
	CHECK_EQ(host_buffers_start(), 0);
	uint32_t index = host_buffers_copied(&download, 3);
	CHECK_EQ(host_buffers_copied(&upload, 4), index);
	host_buffers_copied(&download, 3);
	uint32_t second = host_buffers_copied(&other, 6);
	host_buffers_read(index, &buffer);
	CHECK(buffer.round_trips.count == 1 && buffer.round_trips.host_ns == 40);
	CHECK(buffer.round_trips.copy_ns == 30 && buffer.follows.count == 0);
	CHECK(buffer.round_trips.download_site == 3 && buffer.round_trips.upload_site == 4);
	host_buffers_read(second, &buffer);
	CHECK(buffer.round_trips.count == 0 && buffer.follows.count == 1);
	CHECK(buffer.follows.bytes == 8192 && buffer.after == index);
	CHECK(buffer.follows.download_site == 3 && buffer.follows.upload_site == 6);
}

CHECK_MAIN()
