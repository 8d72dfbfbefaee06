/*
 * test_site.c - what is told apart, what is learned and forgotten, and that no bank makes money.
 */
#include "host/site.h"

#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static uint64_t own(uint32_t site)
{
	uint64_t has, common;

	site_funds(site, &has, &common);
	return has;
}

static uint64_t common(void)
{
	uint64_t has, ret_common;

	site_funds(0, &has, &ret_common);
	return ret_common;
}

static uint32_t history_of(const char *seasons)
{
	uint32_t history = 0;

	for (; *seasons != '\0'; seasons++)
		history = site_history_add(history, *seasons == 'h');
	return history;
}

TEST(a_majority_of_the_last_eight)
{
	const struct {
		const char *seasons;
		bool hot;
	} rows[] = {
		{ "", false },
		{ "h", false },
		{ "c", false },
		{ "hh", true },
		{ "hc", false },
		{ "ch", false },
		{ "chh", true },
		{ "hch", true },
		{ "hcc", false },
		{ "hhhhhhhh", true },
		{ "cccchhhh", false },
		{ "ccchhhhh", true },
		{ "hhhhcccc", false },
		{ "hhhhhccc", true },
		{ "hhhhhhhhhhhhcccc", false },
		{ "cccccccccccchhhh", false },
		{ "cccccccccccchhhhh", true },
		{ "hchchchchchchchc", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!CHECK_EQ(site_history_is_hot(history_of(rows[i].seasons)), rows[i].hot))
			printf("# %s\n", rows[i].seasons);
}

TEST(a_site_learns_and_unlearns)
{
	CHECK(!site_is_hot(5));
	site_note_season(5, true);
	CHECK(!site_is_hot(5));
	site_note_season(5, true);
	CHECK(site_is_hot(5));
	CHECK(!site_is_hot(7) && !site_is_hot(0));
	site_note_season(5, false);
	CHECK(site_is_hot(5));
	site_note_season(5, false);
	CHECK(!site_is_hot(5));
	/* Who is not known learns nothing. */
	for (int i = 0; i < 10; i++)
		site_note_season(0, true);
	CHECK(!site_is_hot(0));
}

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
	CHECK(!site_is_hot(5));
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

TEST(banks)
{
	CHECK_EQ(common(), SITE_ENDOWMENT_NS);
	CHECK_EQ(own(5), 0);
	site_credit(5, 100);
	CHECK(own(5) == 100 && own(7) == 0);
	CHECK(!site_draw(5, 101, false));
	CHECK_EQ(own(5), 100);
	CHECK(site_draw(5, 40, false));
	CHECK_EQ(own(5), 60);
	CHECK(site_draw(5, 70, true));
	CHECK(own(5) == 0 && common() == SITE_ENDOWMENT_NS - 10);
	site_credit(5, 33);
	CHECK(!site_draw(5, SITE_ENDOWMENT_NS + 24, true));
	CHECK(own(5) == 33 && common() == SITE_ENDOWMENT_NS - 10);
	CHECK(site_draw(5, SITE_ENDOWMENT_NS + 23, true));
	CHECK(own(5) == 0 && common() == 0);
	/* Site 0 has the common one only. */
	CHECK(!site_draw(0, 1, true));
	site_credit(0, 5);
	CHECK(!site_draw(0, 5, false));
	CHECK(site_draw(0, 5, true));
	CHECK(site_draw(9, 0, false));
}

/* Far more sites than the table has room for. */
TEST(old_sites_make_room_and_lose_no_money)
{
	for (uint32_t site = 1; site <= 100000; site++) {
		site_note_season(site, true);
		site_note_season(site, true);
		site_credit(site, 10);
		CHECK(site_is_hot(site));
		/* One that is always in use stays. */
		site_note_season(77, true);
	}
	CHECK(site_is_hot(77));

	uint64_t sum = common() - SITE_ENDOWMENT_NS;
	int known = 0;
	for (uint32_t site = 1; site <= 100000; site++) {
		sum += own(site);
		known += site_is_hot(site);
	}
	CHECK_EQ(sum, 1000000);
	CHECK(known > 500 && known <= 1024);
}

static _Atomic uint64_t credited, drawn;

static void *trade(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg * 7919 + 1;

	for (int i = 0; i < 200000; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		/* So few that they are the same, and so many that they drive each other out. */
		uint32_t site = (uint32_t)(state >> 33) % 3000 * 256 + 1;
		uint64_t ns = (state >> 20) % 1000;

		if ((state >> 40) % 2 == 0) {
			site_credit(site, ns);
			atomic_fetch_add(&credited, ns);
		} else if (site_draw(site, ns, (state >> 41) % 2)) {
			atomic_fetch_add(&drawn, ns);
		}
		if (i % 16 == 0)
			site_note_season(site, true);
	}
	return NULL;
}

TEST(threads_make_no_money)
{
	pthread_t threads[4];
	uint64_t sum = common();

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, trade, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	sum = common();
	for (uint32_t i = 0; i < 3000; i++)
		sum += own(i * 256 + 1);
	CHECK_EQ(sum + drawn, SITE_ENDOWMENT_NS + credited);
	CHECK(drawn > 0);
}

static __attribute__((noinline)) uint32_t called(void)
{
	__asm__ volatile(""); /* one call is not as good as another */
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

/* The limit of 1 us is for all that an allocation does for its site. */
/* The best of some turns, by this thread's own time: others are at work, too. */
TEST(costs_little)
{
	const int turns = 20, rounds = 20000;
	uint32_t sum = 0;
	double best = 1e9;

	for (uint32_t site = 1; site < 1000; site++)
		site_note_season(site, true);
	for (int turn = 0; turn < turns; turn++) {
		struct timespec from, to;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
		for (int i = 0; i < rounds; i++) {
			uint32_t site = called() % 1000;

			sum += site + density(site) + site_is_hot(site);
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
		double ns = ((double)(to.tv_sec - from.tv_sec) * 1e9 +
			     (double)(to.tv_nsec - from.tv_nsec)) /
			    rounds;
		best = ns < best ? ns : best;
	}
	printf("# site_of() and two look-ups: %.1f ns (%u)\n", best, sum);
	CHECK(best < 1000);
}

CHECK_MAIN()
