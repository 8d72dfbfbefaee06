/*
 * test_launch_times.c - kernels and the places that launched them, in bounded memory.
 */
#include "trace/calls/launch_times.h"
#include "trace/calls/launches.h"
#include "trace/operation.h"

#include "check.h"
#include <pthread.h>

#define KERNELS 4u
#define BEGAN   1000u

static void begin(void)
{
	CHECK(!launch_times_wanted());
	launch_times_note(1, 5); /* too early: not wanted yet */
	CHECK_EQ(launch_times_start(BEGAN, KERNELS), 0);
	CHECK(launch_times_wanted());
}

static struct profile_launch of(size_t place)
{
	struct profile_launch time;

	launch_times_read(place, &time);
	return time;
}

static struct profile_launches_rest rest(void)
{
	struct profile_launches_rest time;

	launch_times_read_rest(&time);
	return time;
}

static void called(uint32_t number, uint64_t at_ns)
{
	launch_times_called(number, trace_thread(), at_ns);
}

TEST(the_ring_wraps)
{
	begin();
	for (uint64_t i = 0; i < 3 * LAUNCH_TIMES_NOTES; i++)
		launch_times_note(i % 2, BEGAN + 10 * i);
	/* An overwritten one, the oldest one that may be overwritten any moment, and the latest. */
	called(1, BEGAN + 5);
	called(2, BEGAN + 10 * 2 * (uint64_t)LAUNCH_TIMES_NOTES - 5);
	called(3, BEGAN + 10 * (3 * (uint64_t)LAUNCH_TIMES_NOTES - 1) + 5);
	called(4, BEGAN + 10 * (3 * (uint64_t)LAUNCH_TIMES_NOTES - 2) + 5);
	for (uint32_t number = 1; number <= 4; number++)
		launch_times_ran(number, number % 4, 10);
	CHECK_EQ(of(1).kernels, 1);
	CHECK_EQ(of(0).kernels, 1);
	CHECK_EQ(rest().kernels, 2);
}

/* Numbers without a call are dropped after a while; so are kernels without room to wait. */
TEST(what_waits_is_bounded)
{
	begin();
	launch_times_note(2, BEGAN + 1);
	called(1, BEGAN + 2);
	launch_times_ran(1, 0, 10);
	for (uint32_t round = 0; round < 3; round++)
		for (uint32_t i = 2; i < 2 * LAUNCH_TIMES_NUMBERS; i++)
			launch_times_ran(i + round * LAUNCH_TIMES_NUMBERS, 0, 1);
	CHECK_EQ(of(2).kernels, 1 + 3 * (2 * (uint64_t)LAUNCH_TIMES_NUMBERS - 2));
	CHECK_EQ(of(2).device_ns - of(2).estimated_ns, 10);
	CHECK_EQ(rest().kernels, 0);
}

#define THREADS (LAUNCH_TIMES_THREADS + 8)

static uint32_t numbers_of[THREADS];
static pthread_barrier_t all_have_launched;

static void *launch(void *index)
{
	launch_times_note((uint32_t)(uintptr_t)index % LAUNCHES_MOST, BEGAN + 10);
	numbers_of[(uintptr_t)index] = trace_thread();
	pthread_barrier_wait(&all_have_launched);
	return NULL;
}

/* Some more threads at once than are noted. */
TEST(threads)
{
	pthread_t threads[THREADS];
	uint64_t known = 0;

	begin();
	pthread_barrier_init(&all_have_launched, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, launch, (void *)i), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < THREADS; i++) {
		launch_times_called(i + 1, numbers_of[i], BEGAN + 20);
		launch_times_ran(i + 1, 0, 1);
	}
	for (size_t i = 0; i < LAUNCHES_MOST; i++)
		known += of(i).device_ns - of(i).estimated_ns;
	CHECK_EQ(known, LAUNCH_TIMES_THREADS);
}

/* Joins one kernel. */
static void join_one(uint32_t number, size_t kernel)
{
	launch_times_note(3, BEGAN + number * UINT64_C(10));
	called(number, BEGAN + number * UINT64_C(10) + 1);
	launch_times_ran(number, kernel, 1);
}

/*
 * Records make each launch slower: they are turned off when the places are known, and on for a
 * kernel of an unknown place.
 */
TEST(records_are_wanted_until_places_are_known)
{
	uint32_t number = 1;

	begin();
	CHECK(launch_times_want_records(true));
	while (number <= LAUNCH_TIMES_EXACT)
		join_one(number++, 0);
	CHECK(!launch_times_want_records(true));
	CHECK(!launch_times_want_records(false));
	/* A kernel of a known place. */
	launch_times_ran(number++, 0, 5);
	CHECK(!launch_times_want_records(false));
	CHECK_EQ(of(3).estimated_ns, 5);
	/* A kernel of an unknown place. */
	launch_times_ran(number++, 1, 7);
	CHECK(launch_times_want_records(false));
	join_one(number++, 1);
	CHECK(launch_times_want_records(true));
	CHECK_EQ(rest().device_ns, 0);
}

/* A kernel whose place is never known does not keep the records on. */
TEST(records_are_retried_a_few_times)
{
	unsigned retries = 0;

	begin();
	for (uint32_t number = 1; number < 1000; number++) {
		launch_times_ran(number, 1, 7);
		retries += launch_times_want_records(false);
	}
	CHECK_EQ(retries, LAUNCH_TIMES_RETRIES);
}

CHECK_MAIN()
