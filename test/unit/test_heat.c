/*
 * test_heat.c - every border of the rules, one row each.
 */
#include "host/heat.h"

#include "check.h"

#include <stdint.h>

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* Round figures, so that the expected times can be worked out by hand. */
static const struct heat_rates rates = {
	.pageable_h2d = 80000,
	.pageable_d2h = 60000,
	.pinned_h2d = 20000,
	.pinned_d2h = 30000,
	.pin_small = 40000,
	.pin_huge = 15000,
	.unpin_small = 10000,
	.unpin_huge = 5000,
	.pin_floor_ns = 40000,
	.copy_floor_ns = 6000,
};

TEST(gain_by_direction_and_size)
{
	CHECK_EQ(heat_gain_ns(&rates, true, 0), 0);
	CHECK_EQ(heat_gain_ns(&rates, true, MIB), 60000);
	CHECK_EQ(heat_gain_ns(&rates, false, MIB), 30000);
	CHECK_EQ(heat_gain_ns(&rates, true, MIB / 2), 30000);
	CHECK_EQ(heat_gain_ns(&rates, true, 64 * GIB), 60000ll * 64 * 1024);
	/* The product of bytes and rate does not fit 64 bits. */
	CHECK_EQ(heat_gain_ns(&rates, true, (size_t)1 << 50), 60000ll << 30);
}

TEST(no_gain_where_pinned_is_slower)
{
	struct heat_rates odd = rates;

	odd.pinned_d2h = odd.pageable_d2h;
	CHECK_EQ(heat_gain_ns(&odd, false, GIB), 0);
	odd.pinned_d2h++;
	CHECK_EQ(heat_gain_ns(&odd, false, GIB), 0);
	CHECK_EQ(heat_gain_ns(&odd, true, MIB), 60000);
}

TEST(price_by_pages_and_size)
{
	CHECK_EQ(heat_price_ns(&rates, 0, true), 40000);
	CHECK_EQ(heat_price_ns(&rates, MIB, false), 90000);
	CHECK_EQ(heat_price_ns(&rates, MIB, true), 60000);
	CHECK_EQ(heat_price_ns(&rates, 64 * MIB, false), 40000 + 64 * 50000);
	CHECK_EQ(heat_price_ns(&rates, 64 * MIB, true), 40000 + 64 * 20000);
}

/* The price is always 100. */
static const struct row {
	uint64_t rent, drawn, gain;
	bool hot, behind;
	uint64_t own, common;
	enum heat_verdict verdict;
	uint64_t draw;
} table[] = {
	/* Plain ski-rental: rented until the demand, this copy's gain included, is the price. */
	{ 0, 0, 99, false, false, 0, 0, HEAT_RENT, 0 },
	{ 0, 0, 100, false, false, 0, 0, HEAT_PIN, 0 },
	{ 70, 0, 29, false, false, 0, 0, HEAT_RENT, 0 },
	{ 70, 0, 30, false, false, 0, 0, HEAT_PIN, 0 },
	{ 99, 0, 1, false, false, 0, 0, HEAT_PIN, 0 },
	{ 5000, 0, 1, false, false, 0, 0, HEAT_PIN, 0 },
	/* Nothing at hand that would gain: not now, whatever was paid. */
	{ 5000, 0, 0, true, true, 900, 900, HEAT_RENT, 0 },
	/* Money alone is no reason, nor is a thread. */
	{ 0, 0, 99, false, true, 900, 900, HEAT_RENT, 0 },

	/* Reached by a small copy: it need not wait.  Its own rent is above the bound then... */
	{ 90, 0, 10, false, true, 0, 0, HEAT_PIN_BEHIND, 0 },
	{ 90, 0, 20, false, true, 10, 0, HEAT_PIN_BEHIND, 10 },
	{ 90, 0, 20, false, true, 9, 1, HEAT_PIN_BEHIND, 10 },
	/* ... and not covered. */
	{ 90, 0, 20, false, true, 5, 4, HEAT_PIN, 0 },
	/* What was drawn already need not be drawn again. */
	{ 110, 10, 20, false, true, 20, 0, HEAT_PIN_BEHIND, 20 },
	{ 110, 10, 20, false, true, 19, 0, HEAT_PIN, 0 },
	{ 110, 40, 20, false, true, 0, 0, HEAT_PIN_BEHIND, 0 },
	/* A copy that would gain half the price waits for the pin. */
	{ 90, 0, 49, false, true, 900, 0, HEAT_PIN_BEHIND, 39 },
	{ 90, 0, 50, false, true, 900, 0, HEAT_PIN, 0 },
	{ 0, 0, 100, false, true, 900, 900, HEAT_PIN, 0 },

	/* Known to be hot: at the first copy, if what may be lost is covered. */
	{ 0, 0, 50, true, false, 0, 0, HEAT_PIN, 0 },
	{ 0, 0, 49, true, false, 2, 0, HEAT_PIN, 2 },
	{ 0, 0, 49, true, false, 1, 900, HEAT_RENT, 0 },
	{ 0, 2, 49, true, false, 0, 0, HEAT_PIN, 0 },
	{ 40, 0, 20, true, false, 20, 0, HEAT_PIN, 20 },
	{ 40, 0, 20, true, false, 19, 0, HEAT_RENT, 0 },
	/* Small copies do not wait then, either. */
	{ 0, 0, 10, true, true, 90, 0, HEAT_PIN_BEHIND, 90 },
	{ 0, 0, 10, true, true, 89, 900, HEAT_PIN, 80 },
	{ 0, 0, 10, true, true, 79, 900, HEAT_RENT, 0 },
	{ 10, 90, 10, true, true, 0, 0, HEAT_PIN_BEHIND, 0 },
	{ 0, 0, 50, true, true, 900, 0, HEAT_PIN, 0 },
};

TEST(chooses_at_every_border)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct row *row = &table[i];
		struct heat_season season = { .rent = row->rent, .drawn = row->drawn };
		struct heat_funds funds = { row->own, row->common };
		struct heat_choice choice =
			heat_choose(&season, row->gain, 100, row->hot, row->behind, &funds);

		if (!CHECK_EQ(choice.verdict, row->verdict) || !CHECK_EQ(choice.draw, row->draw) ||
		    !CHECK(choice.draw == 0 || choice.early == (row->rent + row->gain < 100)))
			printf("# row %zu\n", i);
	}
}

/* rent, drawn, gain -> into the bank, owed still.  The price is always 100. */
static const struct {
	uint64_t rent, drawn, gain, spare, owed;
} bought[] = {
	{ 0, 0, 100, 100, 0 },                       /* at the first copy: as cheap as can be */
	{ 99, 0, 1, 1, 0 },                          /* too late by as much as can be */
	{ 60, 0, 50, 40, 0 },  { 120, 20, 0, 0, 0 }, /* in the background, paid for in advance */
	{ 120, 50, 0, 30, 0 }, { 100, 0, 0, 0, 0 },
	{ 0, 0, 50, 0, 50 },  /* early */
	{ 0, 80, 10, 0, 90 }, /* early, and nothing left over */
	{ 10, 90, 0, 0, 90 },  { 40, 90, 0, 30, 60 },
	{ 500, 0, 1, 0, 0 }, /* the budget was full: nothing is made up for */
};

TEST(what_a_purchase_leaves)
{
	for (size_t i = 0; i < sizeof(bought) / sizeof(bought[0]); i++) {
		struct heat_season season = { .rent = bought[i].rent, .drawn = bought[i].drawn };

		if (!CHECK_EQ(heat_bought(&season, bought[i].gain, 100), bought[i].spare) ||
		    !CHECK_EQ(season.owed, bought[i].owed) ||
		    !CHECK_EQ(season.rent + season.drawn, 0))
			printf("# row %zu\n", i);
	}
}

TEST(what_later_copies_bring_in)
{
	struct heat_season season = { .owed = 90 };

	CHECK_EQ(heat_spared(&season, 30), 60);
	CHECK_EQ(season.owed, 60);
	CHECK_EQ(heat_spared(&season, 0), 0);
	CHECK_EQ(heat_spared(&season, 61), 120);
	CHECK_EQ(season.owed, 0);
	CHECK_EQ(heat_spared(&season, 61), 0);
}

TEST(what_is_left_of_a_season_without_a_purchase)
{
	struct heat_season season = { .rent = 30 };

	CHECK_EQ(heat_not_bought(&season, 100), 30);
	CHECK_EQ(season.rent, 0);
	season = (struct heat_season){ .rent = 30, .drawn = 70 };
	CHECK_EQ(heat_not_bought(&season, 100), 100);
	season = (struct heat_season){ .rent = 130, .drawn = 30 };
	CHECK_EQ(heat_not_bought(&season, 100), 100);
	season = (struct heat_season){ .rent = 300 };
	CHECK_EQ(heat_not_bought(&season, 100), 0);
}

TEST(worth_the_wait)
{
	CHECK(!heat_still_worth(&(struct heat_season){ .rent = 99 }, 100));
	CHECK(heat_still_worth(&(struct heat_season){ .rent = 100 }, 100));
	CHECK(heat_still_worth(&(struct heat_season){ .rent = 10, .drawn = 90 }, 100));
	CHECK(!heat_still_worth(&(struct heat_season){ .rent = 10, .drawn = 89 }, 100));
}

/* What the measured device makes of common cases, without knowing their sites. */
TEST(default_rates_pin_when_expected)
{
	const struct heat_rates *d = &heat_rates_default;
	const struct {
		size_t bytes;
		bool huge;
		int copies;
	} cases[] = {
		{ 64 * MIB, true, 1 }, { 16 * MIB, true, 1 },   { 5 * MIB, true, 1 },
		{ 4 * MIB, true, 2 },  { 64 * MIB, false, 2 },  { 16 * MIB, false, 2 },
		{ MIB, false, 3 },     { 256 * KIB, false, 6 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t price = heat_price_ns(d, cases[i].bytes, cases[i].huge);
		struct heat_season season = { 0 };
		struct heat_funds none = { 0, 0 };
		uint64_t gain = heat_gain_ns(d, true, cases[i].bytes);
		int copies = 1;

		for (; heat_choose(&season, gain, price, false, false, &none).verdict != HEAT_PIN;
		     copies++)
			season.rent += gain;
		if (!CHECK_EQ(copies, cases[i].copies))
			printf("# row %zu\n", i);
	}
}

TEST(learns_fast_from_fast_and_slowly_from_slow)
{
	CHECK_EQ(heat_learn(80000, MIB, 80000), 80000);
	CHECK_EQ(heat_learn(80000, MIB, 40000), 70000);
	CHECK_EQ(heat_learn(80000, MIB, 160000), 85000);
	CHECK_EQ(heat_learn(80000, 4 * MIB, 160000), 70000);
	/* A copy that waited for a kernel says nothing. */
	CHECK_EQ(heat_learn(80000, MIB, 320001), 80000);
	CHECK_EQ(heat_learn(80000, MIB, UINT64_MAX), 80000);
	CHECK_EQ(heat_learn(80000, 0, 100), 80000);
	CHECK_EQ(heat_learn(1, MIB, 0), 1);
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

TEST(learns_a_rate_amid_waits)
{
	uint64_t state = 42;
	uint32_t rate = heat_rates_default.pageable_h2d;

	/* The truth is 40 us per MiB; every third copy waits for a kernel of some length. */
	for (int i = 0; i < 300; i++) {
		uint64_t wait = i % 3 == 0 ? next_random(&state) % 1000000 : 0;

		rate = heat_learn(rate, 16 * MIB, 16 * 40000 + wait);
	}
	CHECK(rate > 38000 && rate < 46000);
}

TEST(waits_longer_after_each_refusal)
{
	CHECK_EQ(heat_wait_ns(0), 0);
	CHECK_EQ(heat_wait_ns(7), 0);
	CHECK_EQ(heat_wait_ns(8), 50000000);
	CHECK_EQ(heat_wait_ns(9), 100000000);
	CHECK_EQ(heat_wait_ns(16), 12800000000);
	CHECK_EQ(heat_wait_ns(UINT32_MAX), 12800000000);
}

TEST(makes_do_with_less_for_longer_each_time)
{
	CHECK_EQ(heat_lean_ns(1), 20000000);
	CHECK_EQ(heat_lean_ns(2), 160000000);
	CHECK_EQ(heat_lean_ns(3), 1280000000);
	CHECK_EQ(heat_lean_ns(4), 10240000000);
	CHECK_EQ(heat_lean_ns(UINT32_MAX), 10240000000);
}

TEST(ousts_only_the_cold_and_only_when_paid)
{
	CHECK(heat_may_oust(100, 50, 49, 100));
	CHECK(!heat_may_oust(99, 50, 49, 100));
	CHECK(!heat_may_oust(100, 50, 50, 100));
	CHECK(!heat_may_oust(UINT64_MAX, 50, 51, 100));
}

TEST(a_fork_waits_for_much_and_not_long)
{
	CHECK_EQ(heat_fork_patience_ns(0), 0);
	CHECK_EQ(heat_fork_patience_ns(32 * MIB - 1), 0);
	CHECK_EQ(heat_fork_patience_ns(32 * MIB), 50000000 + 4 * MIB);
	CHECK_EQ(heat_fork_patience_ns(GIB), 50000000 + 128 * MIB);
	CHECK_EQ(heat_fork_patience_ns(64 * GIB), 50000000 + 8 * GIB);
}

CHECK_MAIN()
