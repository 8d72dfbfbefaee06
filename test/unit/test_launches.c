/*
 * test_launches.c - kernels and the places that launched them, in bounded memory.
 */
#include "trace/calls/launches.h"
#include "base/parse.h"
#include "trace/operation.h"

#include "check.h"
#include <pthread.h>

#define KERNELS 4u
#define BEGAN   1000u

static uint64_t hash_of(uint64_t place)
{
	return (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

/* A launch from a place that has that number. */
static void note(uint32_t place, uint64_t enter_ns)
{
	const struct frames_way way = { .hash = hash_of(place) };

	launches_called(&way, enter_ns, enter_ns);
}

static void begin(void)
{
	CHECK_EQ(launches_start(), 0);
	CHECK(!launches_are_recorded());
	/* Places get their numbers.  Too early: no launch is wanted yet. */
	for (uint32_t place = 0; place < LAUNCHES_MOST; place++)
		note(place, 5);
	CHECK_EQ(launches_record(BEGAN, KERNELS), 0);
	CHECK(launches_are_recorded());
}

static struct profile_launch of(size_t place)
{
	struct profile_launch time;

	launches_read_times(place, &time);
	return time;
}

static struct profile_launches_rest rest(void)
{
	struct profile_launches_rest time;

	launches_read_rest(&time);
	return time;
}

static void ran(size_t kernel, uint32_t place, uint64_t busy_ns)
{
	CHECK(launches_ran(kernel, busy_ns));
	launches_joined((uint32_t)kernel, place, busy_ns);
}

TEST(the_ring_wraps)
{
	const uint64_t calls[] = {
		/* An overwritten one, the oldest one that may be overwritten any moment, and the
		   latest. */
		BEGAN + 5,
		BEGAN + 10 * 2 * (uint64_t)LAUNCHES_NOTES - 5,
		BEGAN + 10 * (3 * (uint64_t)LAUNCHES_NOTES - 1) + 5,
		BEGAN + 10 * (3 * (uint64_t)LAUNCHES_NOTES - 2) + 5,
	};

	begin();
	for (uint64_t i = 0; i < 3 * LAUNCHES_NOTES; i++)
		note(i % 2, BEGAN + 10 * i);
	for (size_t i = 0; i < HP_LEN(calls); i++)
		ran((i + 1) % 4, launches_place_at(trace_thread(), calls[i]), 10);
	CHECK_EQ(of(1).kernels, 1);
	CHECK_EQ(of(0).kernels, 1);
	CHECK_EQ(rest().kernels, 2);
}

#define THREADS 200

static uint32_t numbers_of[THREADS];
static pthread_barrier_t all_have_launched;

static void *launch(void *index)
{
	note((uint32_t)(uintptr_t)index % LAUNCHES_MOST, BEGAN + 10);
	numbers_of[(uintptr_t)index] = trace_thread();
	pthread_barrier_wait(&all_have_launched);
	return NULL;
}

/* Many threads at once. */
TEST_AFTER(threads, begin())
{
	uint64_t known = 0;

	pthread_barrier_init(&all_have_launched, NULL, THREADS);
	check_in_threads(THREADS, launch);
	for (uint32_t i = 0; i < THREADS; i++)
		ran(0, launches_place_at(numbers_of[i], BEGAN + 20), 1);
	for (size_t i = 0; i < LAUNCHES_MOST; i++)
		known += of(i).device_ns - of(i).estimated_ns;
	CHECK_EQ(known, THREADS);
}

/* Joins one kernel. */
static void join_one(uint32_t number, size_t kernel)
{
	uint64_t at_ns = BEGAN + number * UINT64_C(10);

	note(3, at_ns);
	launches_ran(kernel, 1);
	launches_joined((uint32_t)kernel, launches_place_at(trace_thread(), at_ns + 1), 1);
}

/*
 * Records make each launch slower: they are turned off when the places are known, and on for a
 * kernel of an unknown place.
 */
TEST_AFTER(records_are_wanted_until_places_are_known, begin())
{
	uint32_t number = 1;

	CHECK(launches_want_records());
	while (number <= LAUNCHES_EXACT)
		join_one(number++, 0);
	CHECK(!launches_want_records());
	CHECK(!launches_want_records());
	/* A kernel of a known place. */
	CHECK(!launches_ran(0, 5));
	CHECK(!launches_want_records());
	CHECK_EQ(of(3).estimated_ns, 5);
	/* A kernel of an unknown place. */
	CHECK(!launches_ran(1, 7));
	CHECK(launches_want_records());
	join_one(number++, 1);
	CHECK(launches_want_records());
	CHECK_EQ(rest().device_ns, 0);
}

/* A kernel whose place is never known does not keep the records on. */
TEST_AFTER(records_are_retried_a_few_times, begin())
{
	unsigned retries = 0;
	uint32_t number = 1;

	for (int turn = 0; turn < 1000; turn++) {
		/* The places of another kernel are known again. */
		for (uint32_t last = number + LAUNCHES_EXACT; number < last; number++)
			join_one(number, 0);
		launches_want_records();
		launches_ran(1, 7);
		retries += launches_want_records();
	}
	CHECK_EQ(retries, LAUNCHES_RETRIES);
}

static void launch_from(uint64_t place, uint64_t ns)
{
	struct frames_way way = { .depth = 2, .hash = hash_of(place) };

	way.address[0] = 1000 + place;
	way.address[1] = 77;
	launches_called(&way, 0, ns);
}

TEST(more_places_than_room)
{
	struct launch_site site;
	uint64_t all = 0;
	size_t count = 0;

	CHECK_EQ(launches_start(), 0);
	for (uint64_t i = 0; i < 10 * LAUNCHES_MOST; i++)
		launch_from(i % (2 * LAUNCHES_MOST), 1);
	for (; launches_read(count, &site); count++) {
		CHECK_EQ(site.count, 5);
		all += site.count;
	}
	CHECK_EQ(count, LAUNCHES_MOST);
	CHECK_EQ(launches_lost() + all, 10 * LAUNCHES_MOST);
}

CHECK_MAIN()
