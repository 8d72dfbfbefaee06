/*
 * test_trial.c - measures two ways of copying, takes the faster one, and tries the other one again
 * later.
 */
#include "base/parse.h"
#include "engine/trial.h"

#include "check.h"
#include "sizes.h"

/* Takes the way that the trial chooses; a copy of 1 MiB takes ns[way].  Returns the way. */
static bool copy(struct trial *trial, const uint64_t ns[2])
{
	bool second = trial_takes_second(trial);

	trial_learn(trial, second, MIB, ns[second]);
	return second;
}

/* Returns how many of `count` copies took the second way. */
static int copies(struct trial *trial, int count, uint64_t first_ns, uint64_t second_ns)
{
	const uint64_t ns[2] = { first_ns, second_ns };
	int taken = 0;

	for (int i = 0; i < count; i++)
		taken += copy(trial, ns);
	return taken;
}

TEST(the_first_way_is_measured_first)
{
	struct trial trial = { 0 };

	CHECK_EQ(copies(&trial, TRIAL_SAMPLES, 100, 50), 0);
	CHECK_EQ(copies(&trial, TRIAL_SAMPLES, 100, 50), TRIAL_SAMPLES);
}

TEST(the_faster_way_is_taken)
{
	static const struct {
		uint64_t first_ns, second_ns;
		bool second;
	} rows[] = { { 100, 50, true }, { 50, 100, false }, { 70, 70, false }, { 0, 0, false } };

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		struct trial trial = { 0 };

		copies(&trial, 2 * TRIAL_SAMPLES, rows[i].first_ns, rows[i].second_ns);
		int taken = copies(&trial, TRIAL_EVERY - 1, rows[i].first_ns, rows[i].second_ns);
		CHECK_EQ(taken, rows[i].second ? TRIAL_EVERY - 1 : 0);
	}
}

/* One copy in TRIAL_EVERY takes the slower way, so that changes of the machine are noticed. */
TEST(the_slower_way_is_measured_again)
{
	struct trial trial = { 0 };

	copies(&trial, 2 * TRIAL_SAMPLES, 100, 50);
	CHECK_EQ(copies(&trial, 10 * TRIAL_EVERY, 100, 50), 10 * (TRIAL_EVERY - 1));
	/* The second way has become slow: it is left as soon as its rate shows that. */
	int taken = copies(&trial, 2 * TRIAL_EVERY, 100, 1000);
	CHECK(taken > 0 && taken < 8);
	/* The first way has become slow, too. */
	copies(&trial, 20 * TRIAL_EVERY, 4000, 1000);
	CHECK(copies(&trial, TRIAL_EVERY, 4000, 1000) >= TRIAL_EVERY - 1);
}

/* Measuring the slower way again costs at most one part of TRIAL_EVERY. */
TEST(a_way_that_is_much_slower_is_measured_rarely)
{
	static const struct {
		uint64_t first_ns, second_ns;
	} rows[] = { { 100, 100 }, { 100, 199 }, { 100, 200 },  { 100, 399 },
		     { 100, 400 }, { 100, 999 }, { 100, 6399 }, { 7000, 100 } };

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		uint64_t first = rows[i].first_ns, second = rows[i].second_ns;
		uint64_t fast = first < second ? first : second;
		struct trial trial = { 0 };
		int count = 1000 * TRIAL_EVERY;

		copies(&trial, 2 * TRIAL_SAMPLES, first, second);
		int taken = copies(&trial, count, first, second);
		uint64_t slower = first < second ? (uint64_t)taken : (uint64_t)(count - taken);
		uint64_t excess_ns = slower * (first + second - 2 * fast);

		CHECK(slower > 0);
		CHECK(excess_ns * TRIAL_EVERY <= (uint64_t)count * fast);
	}
}

/* All first samples of the faster way were disturbed: it is found at the next measurement. */
TEST(a_disturbed_start_is_corrected)
{
	struct trial trial = { 0 };

	copies(&trial, 2 * TRIAL_SAMPLES, 100, 2000);
	copies(&trial, 20 * TRIAL_EVERY, 100, 50);
	CHECK(copies(&trial, TRIAL_EVERY, 100, 50) >= TRIAL_EVERY - 1);
}

TEST(one_slow_copy_decides_nothing)
{
	struct trial trial = { 0 };

	/* The first copy by the second way is slow because it wakes threads. */
	copies(&trial, TRIAL_SAMPLES, 100, 50);
	trial_learn(&trial, true, MIB, 10000);
	copies(&trial, TRIAL_SAMPLES - 1, 100, 50);
	CHECK(trial_takes_second(&trial));
	/* A copy that waited for other work. */
	trial_learn(&trial, true, MIB, 300);
	CHECK(trial_takes_second(&trial));
}

TEST(sizes_are_compared_by_the_byte)
{
	struct trial trial = { 0 };

	for (int i = 0; i < TRIAL_SAMPLES; i++)
		trial_learn(&trial, false, 8 * MIB, 800);
	for (int i = 0; i < TRIAL_SAMPLES; i++)
		trial_learn(&trial, true, 4 * MIB, 500);
	CHECK(!trial_takes_second(&trial));
	trial_learn(&trial, true, 4 * MIB, UINT64_MAX);
	CHECK(!trial_takes_second(&trial));
}

CHECK_MAIN()
