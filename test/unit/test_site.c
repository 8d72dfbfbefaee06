/*
 * test_site.c - allocation sites: which are distinguished, what they learn, and what they forget.
 */
#include "heap/site.h"

#include "check.h"

#include <pthread.h>
#include <time.h>

TEST(dense_is_never_a_guess)
{
	CHECK(!site_is_dense(5));
	site_note_dense(5, true);
	CHECK(site_is_dense(5));
	CHECK(!site_is_dense(7));
	site_note_dense(0, true);
	CHECK(!site_is_dense(0));
	site_note_dense(5, false);
	CHECK(!site_is_dense(5));
}

/* Far more sites than the table has room for: a site forgets what it learned at most. */
TEST(many_sites)
{
	int known = 0;

	for (uint32_t site = 1; site <= 100000; site++) {
		site_note_dense(site, true);
		CHECK(site_is_dense(site));
	}
	for (uint32_t site = 1; site <= 100000; site++) {
		known += site_is_dense(site);
		site_note_dense(site + 100000, false);
	}
	CHECK(known > 2000 && known <= 4096);
	for (uint32_t site = 100001; site <= 200000; site++)
		CHECK(!site_is_dense(site));
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

			sum += site + site_is_dense(site);
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
