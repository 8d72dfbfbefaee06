/*
 * test_site.c - allocation sites: which are distinguished, what they learn, and what they forget.
 */
#include "heap/site.h"

#include "check.h"

#include <pthread.h>
#include <time.h>

static enum site_density density(uint32_t site)
{
	uintptr_t trial;

	return site_density(site, &trial);
}

TEST(dense_is_never_a_guess)
{
	CHECK_EQ(density(5), SITE_UNKNOWN);
	site_note_dense(5, true);
	CHECK_EQ(density(5), SITE_DENSE);
	CHECK_EQ(density(7), SITE_UNKNOWN);
	site_note_dense(0, true);
	CHECK_EQ(density(0), SITE_SPARSE);
	site_note_dense(5, false);
	for (int i = 0; i < 7; i++) {
		site_note_dense(5, true);
		CHECK_EQ(density(5), SITE_SPARSE);
	}
	site_note_dense(5, true);
	CHECK_EQ(density(5), SITE_DENSE);
}

TEST(a_trial_is_remembered)
{
	uintptr_t trial = 4711;

	CHECK_EQ(site_density(5, &trial), SITE_UNKNOWN);
	CHECK_EQ(trial, 0);
	site_set_trial(5, 4096);
	site_set_trial(0, 8192);
	CHECK_EQ(site_density(5, &trial), SITE_UNKNOWN);
	CHECK_EQ(trial, 4096);
	site_density(0, &trial);
	CHECK_EQ(trial, 0);
}

/* Far more sites than the table has room for. */
TEST(old_sites_make_room)
{
	int known = 0;

	for (uint32_t site = 1; site <= 100000; site++) {
		site_note_dense(site, true);
		CHECK_EQ(density(site), SITE_DENSE);
		/* A site that is always in use stays. */
		site_note_dense(77, true);
	}
	CHECK_EQ(density(77), SITE_DENSE);
	for (uint32_t site = 1; site <= 100000; site++)
		known += density(site) == SITE_DENSE;
	CHECK(known > 500 && known <= 1024);
}

/* So few sites that threads share them, or so many that they replace each other. */
static void *learn(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg * 7919 + 1;

	for (int i = 0; i < 200000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		site_note_dense((uint32_t)(state >> 33) % 3000 * 256 + 1, true);
	}
	return NULL;
}

TEST(threads_learn_at_once)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, learn, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 0; i < 3000; i++)
		CHECK(density(i * 256 + 1) != SITE_SPARSE);
}

static __attribute__((noinline)) uint32_t called(void)
{
	__asm__ volatile(""); /* keeps the two calls apart */
	return site_of(__builtin_return_address(0), __builtin_frame_address(0));
}

static __attribute__((noinline)) uint32_t deeper(void)
{
	char volatile room[64] = { 0 };
	uint32_t site = called();

	return room[0] == 0 ? site : 0;
}

static __attribute__((noinline)) void call_into(uint32_t *ret)
{
	*ret = called();
}

static void *elsewhere(void *arg)
{
	*(uint32_t *)arg = deeper();
	return NULL;
}

TEST(sites_are_told_apart)
{
	uint32_t first = 0, again = 0, one[2], two[2];

	for (int i = 0; i < 2; i++)
		call_into(i == 0 ? &first : &again);
	CHECK(first == again && first != 0);
	CHECK(called() != first);
	/* The same return address on another path. */
	CHECK(deeper() != called());
	for (int i = 0; i < 2; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, elsewhere, i == 0 ? one : two);
		pthread_join(thread, NULL);
	}
	CHECK_EQ(one[0], two[0]);
}

/* The limit of 1 us is for all work of an allocation for its site. */
/* The best of several rounds counts, by this thread's CPU time, because other threads run, too. */
TEST(costs_little)
{
	const int turns = 20, rounds = 20000;
	uint32_t sum = 0;
	double best = 1e9;

	for (uint32_t site = 1; site < 1000; site++)
		site_note_dense(site, true);
	for (int turn = 0; turn < turns; turn++) {
		struct timespec from, to;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (int i = 0; i < rounds; i++) {
			uint32_t site = called() % 1000;

			sum += site + density(site);
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		double ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
			     (double)(to.tv_nsec - from.tv_nsec)) /
			    rounds;
		best = ns < best ? ns : best;
	}
	printf("# site_of() and a look-up: %.1f ns (%u)\n", best, sum);
	CHECK(best < 1000);
}

CHECK_MAIN()
