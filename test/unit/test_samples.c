/*
 * test_samples.c - more call chains than the table has room for: sums lose no sample, and hot code
 * keeps its callers.
 */
#include "trace/samples/samples.h"

#include "check.h"

#include <stdbool.h>

static uint64_t sum(bool folded)
{
	uint64_t all = 0;

	for (size_t i = 0; i < samples_count(); i++) {
		const struct sample *sample = samples_read(i);

		CHECK(!sample->folded || sample->depth == 1);
		if (sample->folded == folded)
			all += sample->count[SAMPLES_FIRST] + sample->count[SAMPLES_OTHERS];
	}
	return all;
}

static void add_at(uint64_t leaf, uint64_t caller, size_t thread, enum samples_time when)
{
	const struct module_place frame[] = { { 1, leaf }, { 2, caller } };

	samples_add(frame, caller != 0 ? 2 : 1, thread, when);
}

static void add(uint64_t leaf, uint64_t caller, size_t thread)
{
	add_at(leaf, caller, thread, SAMPLES_BETWEEN);
}

static const struct sample *find(uint64_t leaf, uint64_t caller)
{
	for (size_t i = 0; i < samples_count(); i++) {
		const struct sample *sample = samples_read(i);

		if (!sample->folded && sample->frame[0].offset == leaf &&
		    (caller != 0 ? sample->depth == 2 && sample->frame[1].offset == caller
				 : sample->depth == 1))
			return sample;
	}
	return NULL;
}

TEST(chains_and_threads_are_apart)
{
	CHECK_EQ(samples_count(), 0);
	CHECK_EQ(samples_start(), 0);
	add(1, 2, SAMPLES_FIRST);
	add(1, 2, SAMPLES_OTHERS);
	add(1, 2, SAMPLES_OTHERS);
	add(1, 3, SAMPLES_FIRST);
	add(1, 0, SAMPLES_FIRST);
	CHECK_EQ(samples_count(), 3);
	CHECK(find(1, 2) != NULL && find(1, 3) != NULL && find(1, 0) != NULL);
	CHECK_EQ(find(1, 2)->count[SAMPLES_FIRST], 1);
	CHECK_EQ(find(1, 2)->count[SAMPLES_OTHERS], 2);
}

/* A sample is after the last copy until the next one. */
TEST(code_outside_the_port_is_told_apart)
{
	CHECK_EQ(samples_start(), 0);
	add_at(1, 2, SAMPLES_FIRST, SAMPLES_BEFORE);
	add_at(1, 2, SAMPLES_FIRST, SAMPLES_AFTER);
	CHECK_EQ(find(1, 2)->after, 1);
	samples_went_on();
	add_at(1, 2, SAMPLES_OTHERS, SAMPLES_AFTER);
	add_at(1, 2, SAMPLES_OTHERS, SAMPLES_AFTER);
	CHECK_EQ(find(1, 2)->count[SAMPLES_FIRST], 2);
	CHECK_EQ(find(1, 2)->before, 1);
	CHECK_EQ(find(1, 2)->after, 2);
}

TEST_AFTER(rare_chains_are_folded_onto_their_leaf, CHECK_EQ(samples_start(), 0))
{
	for (uint64_t i = 0; i < 100000; i++) {
		add(1 + i % 7, 1000 + i, SAMPLES_OTHERS);
		if (i % 100 == 0)
			add(77, 78, SAMPLES_FIRST);
	}
	CHECK(samples_count() <= SAMPLES_MOST + 7);
	CHECK_EQ(sum(true) + sum(false), 101000);
	CHECK(sum(true) > 98000);
	CHECK_EQ(samples_dropped(), 0);
	CHECK(find(77, 78) != NULL);
	CHECK_EQ(find(77, 78)->count[SAMPLES_FIRST], 1000);
}

TEST_AFTER(what_finds_no_place_at_all_is_counted, CHECK_EQ(samples_start(), 0))
{
	for (uint64_t i = 0; i < 100000; i++)
		add(1000 + i / 2, 5, SAMPLES_FIRST);
	CHECK(samples_count() <= 2 * SAMPLES_MOST);
	CHECK(samples_dropped() > 0);
	CHECK_EQ(sum(true) + sum(false) + samples_dropped(), 100000);
}

/* All chains have the same weight: the table is thinned out nevertheless. */
TEST_AFTER(equal_chains_make_room, CHECK_EQ(samples_start(), 0))
{
	for (uint64_t turn = 0; turn < 40; turn++)
		for (uint64_t i = 0; i < SAMPLES_MOST; i++)
			add(9, 1000 + i, SAMPLES_FIRST);
	CHECK_EQ(samples_count(), SAMPLES_MOST);
	add(9, 5000, SAMPLES_FIRST);
	CHECK_EQ(sum(true) + sum(false), 40 * SAMPLES_MOST + 1);
	CHECK(find(9, 5000) != NULL);
}

CHECK_MAIN()
