/*
 * test_cost.c - the pin rule: one row for every border.
 */
#include "pin/cost.h"
#include "base/parse.h"

#include "check.h"
#include "sizes.h"

#include <stdint.h>

TEST(pays_from_by_pages_and_room)
{
	CHECK_EQ(cost_pays_from(0, true), MIB);
	CHECK_EQ(cost_pays_from(0, false), MIB);
	CHECK_EQ(cost_pays_from(64 * MIB, true), 49 * MIB);
	CHECK_EQ(cost_pays_from(100 * MIB, false), 141 * MIB);
	CHECK_EQ(cost_pays_from((size_t)1 << 47, false), ((size_t)7 << 47) / 5 + MIB);
}

TEST(chooses_at_every_border)
{
	/* Pinning pays from a count of 800 on; an eighth of that is 100. */
	const struct {
		bool first;
		uint64_t counted;
		size_t bytes;
		enum cost_verdict verdict;
	} rows[] = {
		/* The copy at hand counts, too. */
		{ false, 0, 799, COST_STAY_PAGEABLE },
		{ false, 0, 800, COST_PIN },
		{ false, 560, 239, COST_STAY_PAGEABLE },
		{ false, 560, 240, COST_PIN },
		{ false, 700, 100, COST_PIN },
		{ false, 5000, 100, COST_PIN },
		/* A small copy does not wait, however much was counted. */
		{ false, 701, 99, COST_PIN_IN_BACKGROUND },
		{ false, 799, 1, COST_PIN_IN_BACKGROUND },
		{ false, 5000, 99, COST_PIN_IN_BACKGROUND },
		{ false, 700, 99, COST_STAY_PAGEABLE },
		/* The first copy of a block never pins; its pages may have been counted before. */
		{ true, 0, 800, COST_STAY_PAGEABLE },
		{ true, 0, SIZE_MAX / 2, COST_STAY_PAGEABLE },
		{ true, 5000, 99, COST_STAY_PAGEABLE },
	};

	for (size_t i = 0; i < HP_LEN(rows); i++)
		if (!CHECK_EQ(cost_decide(rows[i].first, rows[i].counted, rows[i].bytes, 800),
			      rows[i].verdict))
			printf("# row %zu\n", i);
}

TEST(saved_in_proportion_to_the_size)
{
	CHECK_EQ(cost_saved_ns(0), 0);
	CHECK_EQ(cost_saved_ns(64 * MIB), 64 * cost_saved_ns(MIB));
	/* The product of bytes and rate does not fit in 64 bits. */
	CHECK_EQ(cost_saved_ns((size_t)1 << 60), cost_saved_ns(MIB) << 40);
}

#define LONGEST_NS 15000000000u

/* With little pinned a child of fork() may copy the pages; else there is time to unpin all. */
TEST(a_fork_waits_as_long_as_unpinning_takes)
{
	CHECK_EQ(cost_fork_patience_ns(MIB), 0);
	for (size_t pinned = 64 * MIB; pinned <= 64 * GIB; pinned *= 2) {
		/* Unregistering takes 18 us per MiB (H200). */
		CHECK(cost_fork_patience_ns(pinned) > pinned / MIB * 18000);
		CHECK(cost_fork_patience_ns(pinned) < 2 * LONGEST_NS);
	}
}

CHECK_MAIN()
