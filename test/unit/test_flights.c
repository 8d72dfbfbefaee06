/*
 * test_flights.c - which slots each event releases, and the order in which events are queried.
 */
#include "base/parse.h"
#include "stage/flights.h"

#include "check.h"

#define EVENT(number) ((CUevent)(uintptr_t)(number))

/* Appends flight `number` with a slot of the same number. */
static void add(struct flights *flights, uint64_t number, unsigned long long stream, unsigned user)
{
	flights_add(flights, &(struct flight){ .number = number,
					       .before = number - 1,
					       .stream = stream,
					       .event = EVENT(number),
					       .user = user,
					       .units = (uint64_t)1 << number });
}

/* Streams 7, 8, 7, 7, 0 and 0 of context 0, and stream 7 of context 1. */
static void add_some(struct flights *flights)
{
	static const unsigned long long streams[] = { 7, 8, 7, 7, 0, 0 };

	flights->count = 0;
	for (uint64_t i = 0; i < HP_LEN(streams); i++)
		add(flights, i + 1, streams[i], 0);
	add(flights, 7, 7, 1);
}

TEST(an_event_ends_what_its_stream_left_before)
{
	static const struct {
		unsigned ended;
		uint64_t units;
	} rows[] = {
		{ 0, 1 << 1 },
		{ 1, 1 << 2 },
		{ 2, 1 << 1 | 1 << 3 },
		{ 3, 1 << 1 | 1 << 3 | 1 << 4 },
		/* An unknown stream is ordered with no other. */
		{ 4, 1 << 5 },
		{ 5, 1 << 6 },
		/* A stream of another context may have the same number. */
		{ 6, 1 << 7 },
	};

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		struct flights flights;

		add_some(&flights);
		CHECK_EQ(flights_end(&flights, &flights.list[rows[i].ended]), rows[i].units);
		CHECK_EQ(flights_units(&flights), 0xfe & ~rows[i].units);
	}
}

/* The last flight's event was recorded before flight 3 was added. */
TEST(an_event_does_not_speak_for_what_came_after_it)
{
	struct flights flights;

	add_some(&flights);
	flights.list[3].before = 2;
	CHECK_EQ(flights_end(&flights, &flights.list[3]), 1 << 1 | 1 << 4);
	CHECK_EQ(flights.list[1].number, 3);
}

/*
 * Another thread has completed it in between; the other flights that its event covers are completed
 * nevertheless.
 */
TEST(a_flight_that_has_ended_already)
{
	struct flights flights;

	add_some(&flights);
	struct flight third = flights.list[2], last = flights.list[3];
	CHECK_EQ(flights_end(&flights, &third), 1 << 1 | 1 << 3);
	CHECK_EQ(flights_end(&flights, &third), 0);
	CHECK_EQ(flights_end(&flights, &last), 1 << 4);
}

/* A flight without an event ends only with its context. */
TEST(a_flight_without_an_event)
{
	struct flights flights, of;

	add_some(&flights);
	flights.list[0].event = NULL;
	flights.list[0].stream = 0;
	CHECK_EQ(flights_end(&flights, &flights.list[3]), 1 << 3 | 1 << 4);
	flights_of(&flights, 0, &of);
	CHECK_EQ(flights_units(&of), 1 << 2 | 1 << 5 | 1 << 6);
	CHECK_EQ(flights_forget(&flights, 0), 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6);
	CHECK_EQ(flights_units(&flights), 1 << 7);
}

TEST(the_last_of_a_stream)
{
	struct flights flights;

	add_some(&flights);
	CHECK_EQ(flights_forget(&flights, 1), 1 << 7);
	CHECK_EQ(flights_last_of(&flights, 7)->number, 4);
	CHECK_EQ(flights_last_of(&flights, 8)->number, 2);
	CHECK(flights_last_of(&flights, 9) == NULL);
	CHECK(flights_last_of(&flights, 0) == NULL);
}

TEST(whom_to_ask)
{
	static const struct {
		unsigned count;
		unsigned long long streams[6], stream;
		uint64_t asked[FLIGHTS_ASKED_MOST]; /* 0: no more */
	} rows[] = {
		{ 0, { 0 }, 7, { 0 } },
		{ 1, { 7 }, 7, { 1 } },
		{ 1, { 7 }, 9, { 1 } },
		{ 2, { 0, 0 }, 0, { 1, 2 } },
		{ 6, { 7, 7, 7, 7, 8, 8 }, 8, { 3, 6, 1 } },
		{ 6, { 7, 7, 7, 7, 8, 8 }, 9, { 3, 1, 6 } },
		{ 6, { 8, 7, 8, 7, 7, 9 }, 8, { 4, 3, 1, 6 } },
		{ 6, { 0, 7, 8, 7, 7, 0 }, 8, { 4, 3, 1, 6 } },
	};

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		const struct flight *asked[FLIGHTS_ASKED_MOST];
		struct flights flights = { 0 };
		unsigned count = 0;

		for (unsigned j = 0; j < rows[i].count; j++)
			add(&flights, j + 1, rows[i].streams[j], 0);
		while (count < FLIGHTS_ASKED_MOST && rows[i].asked[count] != 0)
			count++;
		if (!CHECK_EQ(flights_to_ask(&flights, rows[i].stream, asked), count))
			printf("# row %zu\n", i);
		for (unsigned j = 0; j < count; j++)
			CHECK_EQ(asked[j]->number, rows[i].asked[j]);
	}
}

CHECK_MAIN()
