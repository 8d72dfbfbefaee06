/*
 * test_cost.c - the rules of the pin cost model: one row for every boundary.
 */
#include "pin/cost.h"

#include "check.h"
#include "sizes.h"

#include <stdint.h>

/* Returns the verdict on a copy.  `background`: a thread pins in the background. */
static enum cost_verdict decide(uint64_t paid, uint64_t gain, uint64_t price, bool background)
{
	enum cost_verdict verdict = cost_decide(paid, gain, price);

	return verdict == COST_PIN_IN_BACKGROUND && !background ? COST_PIN : verdict;
}

/* Round figures, so that the expected times can be worked out manually. */
static const struct cost_rates rates = {
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
	CHECK_EQ(cost_of_copy_ns(&rates, true, 0), 0);
	CHECK_EQ(cost_of_copy_ns(&rates, true, MIB), 60000);
	CHECK_EQ(cost_of_copy_ns(&rates, false, MIB), 30000);
	CHECK_EQ(cost_of_copy_ns(&rates, true, MIB / 2), 30000);
	CHECK_EQ(cost_of_copy_ns(&rates, true, 64 * GIB), 60000ll * 64 * 1024);
	/* The product of bytes and rate does not fit in 64 bits. */
	CHECK_EQ(cost_of_copy_ns(&rates, true, (size_t)1 << 50), 60000ll << 30);
}

TEST(no_gain_where_pinned_is_slower)
{
	struct cost_rates odd = rates;

	odd.pinned_d2h = odd.pageable_d2h;
	CHECK_EQ(cost_of_copy_ns(&odd, false, GIB), 0);
	odd.pinned_d2h++;
	CHECK_EQ(cost_of_copy_ns(&odd, false, GIB), 0);
	CHECK_EQ(cost_of_copy_ns(&odd, true, MIB), 60000);
}

TEST(price_by_pages_and_size)
{
	CHECK_EQ(cost_of_pin_ns(&rates, 0, true), 40000);
	CHECK_EQ(cost_of_pin_ns(&rates, MIB, false), 90000);
	CHECK_EQ(cost_of_pin_ns(&rates, MIB, true), 60000);
	CHECK_EQ(cost_of_pin_ns(&rates, 64 * MIB, false), 40000 + 64 * 50000);
	CHECK_EQ(cost_of_pin_ns(&rates, 64 * MIB, true), 40000 + 64 * 20000);
}

TEST(chooses_at_every_border)
{
	const struct {
		uint64_t paid, gain;
		bool behind;
		enum cost_verdict verdict;
	} rows[] = {
		/* A block stays pageable until its copies, this one included, cost a pin: 800. */
		{ 0, 799, false, COST_STAY_PAGEABLE },
		{ 0, 800, false, COST_PIN },
		{ 560, 239, false, COST_STAY_PAGEABLE },
		{ 560, 240, false, COST_PIN },
		{ 799, 1, false, COST_PIN },
		{ 5000, 1, false, COST_PIN },
		/* A copy without gain never pins. */
		{ 5000, 0, true, COST_STAY_PAGEABLE },
		{ 5000, 0, false, COST_STAY_PAGEABLE },
		/* A small copy need not wait... */
		{ 0, 799, true, COST_STAY_PAGEABLE },
		{ 799, 1, true, COST_PIN_IN_BACKGROUND },
		{ 799, 100, true, COST_PIN_IN_BACKGROUND },
		{ 800, 100, true, COST_PIN_IN_BACKGROUND },
		/* ... unless it costs more than an eighth of a pin, or too much was paid. */
		{ 799, 101, true, COST_PIN },
		{ 801, 100, true, COST_PIN },
		{ 0, 800, true, COST_PIN },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!CHECK_EQ(decide(rows[i].paid, rows[i].gain, 800, rows[i].behind),
			      rows[i].verdict))
			printf("# row %zu\n", i);
}

/* Common cases with the rates of the measured device. */
TEST(default_rates_pin_when_expected)
{
	const struct cost_rates *d = &cost_rates_default;
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
		uint64_t price = cost_of_pin_ns(d, cases[i].bytes, cases[i].huge);
		uint64_t paid = 0;
		uint64_t gain = cost_of_copy_ns(d, true, cases[i].bytes);
		int copies = 1;

		for (; decide(paid, gain, price, false) != COST_PIN; copies++)
			paid += gain;
		if (!CHECK_EQ(copies, cases[i].copies))
			printf("# row %zu\n", i);
	}
}

TEST(learns_fast_from_fast_and_slowly_from_slow)
{
	CHECK_EQ(cost_learn(80000, MIB, 80000), 80000);
	CHECK_EQ(cost_learn(80000, MIB, 40000), 70000);
	CHECK_EQ(cost_learn(80000, MIB, 160000), 85000);
	CHECK_EQ(cost_learn(80000, 4 * MIB, 160000), 70000);
	/* The time of a copy that waited for a kernel is not learned. */
	CHECK_EQ(cost_learn(80000, MIB, 320001), 80000);
	CHECK_EQ(cost_learn(80000, MIB, UINT64_MAX), 80000);
	CHECK_EQ(cost_learn(80000, 0, 100), 80000);
	CHECK_EQ(cost_learn(1, MIB, 0), 1);
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
	uint32_t rate = cost_rates_default.pageable_h2d;

	/* The true rate is 40 us per MiB; every third copy also waits for a kernel. */
	for (int i = 0; i < 300; i++) {
		uint64_t wait = i % 3 == 0 ? next_random(&state) % 1000000 : 0;

		rate = cost_learn(rate, 16 * MIB, 16 * 40000 + wait);
	}
	CHECK(rate > 38000 && rate < 46000);
}

/* No refusal and no lack of memory has effects for longer than this. */
#define LONGEST_NS 15000000000u

TEST(what_the_driver_refuses_is_tried_again_more_rarely)
{
	for (unsigned i = 1; i < 1000; i++) {
		CHECK(cost_retry_ns(i) >= cost_retry_ns(i - 1) && cost_retry_ns(i) < LONGEST_NS);
		CHECK(i < 2 || cost_lean_ns(i) >= cost_lean_ns(i - 1));
		CHECK(cost_lean_ns(i) > 0 && cost_lean_ns(i) < LONGEST_NS);
	}
	CHECK_EQ(cost_retry_ns(1), 0);
	CHECK(cost_retry_ns(1000) > 1000000000);
	CHECK_EQ(cost_retry_ns(UINT32_MAX), cost_retry_ns(1000));
	CHECK_EQ(cost_lean_ns(UINT32_MAX), cost_lean_ns(999));
}

/* With little pinned a child of fork() may copy the pages; else there is time to unpin all. */
TEST(a_fork_waits_as_long_as_unpinning_takes)
{
	CHECK_EQ(cost_fork_patience_ns(MIB), 0);
	for (size_t pinned = 64 * MIB; pinned <= 64 * GIB; pinned *= 2) {
		CHECK(cost_fork_patience_ns(pinned) >
		      pinned / MIB * cost_rates_default.unpin_small);
		CHECK(cost_fork_patience_ns(pinned) < 2 * LONGEST_NS);
	}
}

CHECK_MAIN()
