/*
 * test_launch_times.c - kernels and the places that launched them, in bounded memory.
 */
#include "trace/calls/launch_times.h"
#include "base/parse.h"
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

static void ran(size_t kernel, uint32_t place, uint64_t busy_ns)
{
	CHECK(launch_times_ran(kernel, busy_ns));
	launch_times_joined((uint32_t)kernel, place, busy_ns);
}

TEST(the_ring_wraps)
{
	const uint64_t calls[] = {
		/* An overwritten one, the oldest one that may be overwritten any moment, and the
		   latest. */
		BEGAN + 5,
		BEGAN + 10 * 2 * (uint64_t)LAUNCH_TIMES_NOTES - 5,
		BEGAN + 10 * (3 * (uint64_t)LAUNCH_TIMES_NOTES - 1) + 5,
		BEGAN + 10 * (3 * (uint64_t)LAUNCH_TIMES_NOTES - 2) + 5,
	};

	begin();
	for (uint64_t i = 0; i < 3 * LAUNCH_TIMES_NOTES; i++)
		launch_times_note(i % 2, BEGAN + 10 * i);
	for (size_t i = 0; i < HP_LEN(calls); i++)
		ran((i + 1) % 4, launch_times_place(trace_thread(), calls[i]), 10);
	CHECK_EQ(of(1).kernels, 1);
	CHECK_EQ(of(0).kernels, 1);
	CHECK_EQ(rest().kernels, 2);
}

#define THREADS 200

static uint32_t numbers_of[THREADS];
static pthread_barrier_t all_have_launched;

static void *launch(void *index)
{
	launch_times_note((uint32_t)(uintptr_t)index % LAUNCHES_MOST, BEGAN + 10);
	numbers_of[(uintptr_t)index] = trace_thread();
	pthread_barrier_wait(&all_have_launched);
	return NULL;
}

/* Many threads at once. */
TEST_AFTER(threads, begin())
{
	pthread_t threads[THREADS];
	uint64_t known = 0;

	pthread_barrier_init(&all_have_launched, NULL, THREADS);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, launch, (void *)i), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < THREADS; i++)
		ran(0, launch_times_place(numbers_of[i], BEGAN + 20), 1);
	for (size_t i = 0; i < LAUNCHES_MOST; i++)
		known += of(i).device_ns - of(i).estimated_ns;
	CHECK_EQ(known, THREADS);
}

/* Joins one kernel. */
static void join_one(uint32_t number, size_t kernel)
{
	uint64_t at_ns = BEGAN + number * UINT64_C(10);

	launch_times_note(3, at_ns);
	launch_times_ran(kernel, 1);
	launch_times_joined((uint32_t)kernel, launch_times_place(trace_thread(), at_ns + 1), 1);
}

/*
 * Records make each launch slower: they are turned off when the places are known, and on for a
 * kernel of an unknown place.
 */
TEST_AFTER(records_are_wanted_until_places_are_known, begin())
{
	uint32_t number = 1;

	CHECK(launch_times_want_records());
	while (number <= LAUNCH_TIMES_EXACT)
		join_one(number++, 0);
	CHECK(!launch_times_want_records());
	CHECK(!launch_times_want_records());
	/* A kernel of a known place. */
	CHECK(!launch_times_ran(0, 5));
	CHECK(!launch_times_want_records());
	CHECK_EQ(of(3).estimated_ns, 5);
	/* A kernel of an unknown place. */
	CHECK(!launch_times_ran(1, 7));
	CHECK(launch_times_want_records());
	join_one(number++, 1);
	CHECK(launch_times_want_records());
	CHECK_EQ(rest().device_ns, 0);
}

/* A kernel whose place is never known does not keep the records on. */
TEST_AFTER(records_are_retried_a_few_times, begin())
{
	unsigned retries = 0;
	uint32_t number = 1;

	for (int turn = 0; turn < 1000; turn++) {
		/* The places of another kernel are known again. */
		for (uint32_t last = number + LAUNCH_TIMES_EXACT; number < last; number++)
			join_one(number, 0);
		launch_times_want_records();
		launch_times_ran(1, 7);
		retries += launch_times_want_records();
	}
	CHECK_EQ(retries, LAUNCH_TIMES_RETRIES);
}

CHECK_MAIN()
