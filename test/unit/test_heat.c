/*
 * test_heat.c - every border of the rule, and its promise on traces of copies.
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
	.pinned = 20000,
	.pin_small = 50000,
	.pin_huge = 20000,
	.pin_floor_ns = 40000,
	.copy_floor_ns = 6000,
};

TEST(excess_by_direction_and_size)
{
	CHECK_EQ(heat_excess_ns(&rates, true, 0), 0);
	CHECK_EQ(heat_excess_ns(&rates, true, MIB), 60000);
	CHECK_EQ(heat_excess_ns(&rates, false, MIB), 40000);
	CHECK_EQ(heat_excess_ns(&rates, true, MIB / 2), 30000);
	CHECK_EQ(heat_excess_ns(&rates, true, 64 * GIB), 60000ll * 64 * 1024);
	/* The product of bytes and rate does not fit 64 bits. */
	CHECK_EQ(heat_excess_ns(&rates, true, (size_t)1 << 50), 60000ll << 30);
}

TEST(no_excess_where_pinned_is_slower)
{
	struct heat_rates odd = rates;

	odd.pinned = odd.pageable_d2h;
	CHECK_EQ(heat_excess_ns(&odd, false, GIB), 0);
	odd.pinned = odd.pageable_d2h + 1;
	CHECK_EQ(heat_excess_ns(&odd, false, GIB), 0);
	/* Then no rent of the past is a reason. */
	CHECK(!heat_worth_pinning(&odd, UINT64_MAX, false, GIB, MIB, true));
}

TEST(price_by_pages_and_size)
{
	CHECK_EQ(heat_pin_ns(&rates, 0, true), 40000);
	CHECK_EQ(heat_pin_ns(&rates, MIB, false), 90000);
	CHECK_EQ(heat_pin_ns(&rates, MIB, true), 60000);
	CHECK_EQ(heat_pin_ns(&rates, 64 * MIB, false), 40000 + 64 * 50000);
	CHECK_EQ(heat_pin_ns(&rates, 64 * MIB, true), 40000 + 64 * 20000);
}

/* Rent before, copy at hand, room, pages -> verdict, at each border and one beside it. */
static const struct row {
	uint64_t excess_ns;
	bool to_device;
	size_t bytes, room;
	bool huge, worth;
} table[] = {
	/* 1 MiB on 4 KiB pages costs 90000 to pin; a copy down saves 60000, one up 40000. */
	{ 0, true, MIB, MIB, false, false },
	{ 29999, true, MIB, MIB, false, false },
	{ 30000, true, MIB, MIB, false, true },
	{ 49999, false, MIB, MIB, false, false },
	{ 50000, false, MIB, MIB, false, true },
	/* On 2 MiB pages the price is 60000: the first copy down is enough, one byte less is not.
	 */
	{ 0, true, MIB, MIB, true, true },
	{ 0, true, MIB - 32, MIB, true, false },
	{ 1, true, MIB - 17, MIB, true, true },
	/* A small copy out of a big block is not. */
	{ 0, true, 256 * KIB, GIB, true, false },
	{ 40000 + 1024 * 20000 - 15000, true, 256 * KIB, GIB, true, true },
	{ 40000 + 1024 * 20000 - 15001, true, 256 * KIB, GIB, true, false },
	/* Nothing at hand: not now. */
	{ UINT64_MAX, true, 0, MIB, true, false },
	/* Rent that would overflow. */
	{ UINT64_MAX - 1, true, MIB, MIB, false, true },
};

TEST(worth_at_every_border)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct row *row = &table[i];

		if (!CHECK_EQ(heat_worth_pinning(&rates, row->excess_ns, row->to_device, row->bytes,
						 row->room, row->huge),
			      row->worth))
			printf("# row %zu\n", i);
	}
}

/* What the measured device makes of common cases. */
TEST(default_rates_pin_when_expected)
{
	const struct heat_rates *d = &heat_rates_default;

	/* Big blocks on 2 MiB pages and 64 MiB on 4 KiB pages: at the first copy. */
	CHECK(heat_worth_pinning(d, 0, true, 16 * MIB, 16 * MIB, true));
	CHECK(heat_worth_pinning(d, 0, false, 2 * MIB, 2 * MIB, true));
	CHECK(heat_worth_pinning(d, 0, true, 64 * MIB, 64 * MIB, false));
	/* 256 KiB: the floor of registering is worth more than three copies. */
	uint64_t each = heat_excess_ns(d, true, 256 * KIB);
	CHECK(!heat_worth_pinning(d, 2 * each, true, 256 * KIB, 256 * KIB, false));
	CHECK(heat_worth_pinning(d, 3 * each, true, 256 * KIB, 256 * KIB, false));
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* What `count` copies cost above pinned ones under the rule; *ret_rent: had nobody ever pinned. */
static uint64_t cost_online(const size_t *bytes, int count, size_t room, bool huge,
			    uint64_t *ret_rent)
{
	uint64_t paid = 0, rent = 0, excess = 0;
	bool pinned = false;

	for (int i = 0; i < count; i++) {
		uint64_t one = heat_excess_ns(&rates, true, bytes[i]);

		rent += one;
		if (pinned)
			continue;
		if (heat_worth_pinning(&rates, excess, true, bytes[i], room, huge)) {
			pinned = true;
			paid += heat_pin_ns(&rates, room, huge);
		} else {
			paid += one;
			excess += one;
		}
	}
	*ret_rent = rent;
	return paid;
}

static void check_ratio(const size_t *bytes, int count, size_t room, bool huge)
{
	uint64_t rent, paid = cost_online(bytes, count, room, huge, &rent);
	uint64_t price = heat_pin_ns(&rates, room, huge);
	uint64_t best = rent < price ? rent : price;

	CHECK(paid <= 2 * best);
}

TEST(never_twice_the_best_on_adversarial_traces)
{
	/* The program stops right after we have bought: the worst there is. */
	for (size_t room = 256 * KIB; room <= GIB; room *= 2) {
		for (size_t each = 64; each <= room; each *= 4) {
			static size_t bytes[4096];
			uint64_t excess = 0;
			int count = 0;

			while (count < 4096) {
				bytes[count] = each;
				bool bought =
					heat_worth_pinning(&rates, excess, true, each, room, false);
				excess += heat_excess_ns(&rates, true, each);
				count++;
				if (bought || count % 512 == 0)
					check_ratio(bytes, count, room, false);
				if (bought)
					break;
			}
		}
	}
}

TEST(never_twice_the_best_on_random_traces)
{
	uint64_t state = 88172645463325252u;

	for (int trace = 0; trace < 2000; trace++) {
		static size_t bytes[256];
		size_t room = (size_t)(next_random(&state) % 1024 + 1) * 256 * KIB;
		int count = (int)(next_random(&state) % 256) + 1;
		bool huge = next_random(&state) % 2;

		for (int i = 0; i < count; i++)
			bytes[i] = next_random(&state) % (room >> next_random(&state) % 12) + 1;
		check_ratio(bytes, count, room, huge);
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

CHECK_MAIN()
