/*
 * test_whatif.c - bounds computed from made-up splits and from copies by size.
 */
#include "check.h"
#include "trace/collect/sizes.h"
#include "trace/out/whatif.h"

#define MILLI 1000000ull

TEST(excess)
{
	struct whatif_pageable copies[2] = { { 1000000000, 300 * MILLI, 10000000000 },
					     { 2000000000, 150 * MILLI, 10000000000 } };
	uint64_t ns = 4711;

	/* The first copies could have taken 100 ms; the second were faster than the peak. */
	CHECK(whatif_excess_ns(copies, 2, &ns));
	CHECK_EQ(ns, 200 * MILLI);
	/* Without copies no peak is needed; without a peak the result is unknown. */
	copies[1] = (struct whatif_pageable){ 0 };
	CHECK(whatif_excess_ns(copies, 2, &ns));
	CHECK_EQ(ns, 200 * MILLI);
	copies[0].peak = 0;
	CHECK(!whatif_excess_ns(copies, 2, &ns));
	CHECK_EQ(ns, 200 * MILLI);
}

TEST(bounds)
{
	static const struct {
		uint64_t transfer, kernel, excess, calls, saves[WHATIF_COUNT];
	} rows[] = {
		/* Copies take 300, of which pinning leaves 100. */
		{ 300, 1000, 200, 0, { 200, 300, 300, 310 } },
		/* Time that is already hidden cannot be saved again. */
		{ 50, 1000, 200, 0, { 50, 50, 50, 60 } },
		{ 300, 100, 200, 0, { 200, 100, 300, 310 } },
		{ 300, 20, 200, 0, { 200, 20, 220, 310 } },
		{ 300, 0, 0, 0, { 0, 0, 0, 310 } },
		{ 0, 500, 7, 0, { 0, 0, 0, 10 } },
		/* The driver worked inside the calls before the device had anything to do. */
		{ 300, 20, 200, 4, { 204, 20, 224, 310 } },
		{ 300, 20, 200, 4000, { 210, 20, 230, 310 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct split_sum split = { .transfer_ns = rows[i].transfer,
					   .kernel_ns = rows[i].kernel,
					   .call_overhead_ns = 10 };
		struct whatif_facts facts = { .split = &split,
					      .excess_ns = rows[i].excess,
					      .pageable_calls_ns = rows[i].calls,
					      .excess_known = true };

		for (int what = 0; what < WHATIF_COUNT; what++) {
			uint64_t saves = 4711;

			CHECK(whatif_saves_ns(&facts, (enum whatif)what, &saves));
			if (!CHECK_EQ(saves, rows[i].saves[what]))
				printf("# row %zu, %s\n", i, whatif_names[what]);
		}
		facts.excess_known = false;
		uint64_t saves = 4711;
		CHECK(!whatif_saves_ns(&facts, WHATIF_PINNED, &saves));
		CHECK(!whatif_saves_ns(&facts, WHATIF_BOTH, &saves));
		CHECK_EQ(saves, 4711);
		CHECK(whatif_saves_ns(&facts, WHATIF_NO_TRANSFERS, &saves));
	}
}

/* 120 ms of transfers and 21 ms of kernels, as on an H200 where overlapping saved 71 ms. */
TEST(directions)
{
	static const struct {
		uint64_t transfer, kernel, overlap, up, down, pinned, saves, saves_both;
	} rows[] = {
		{ 120, 21, 0, 60, 60, 0, 81, 81 },
		{ 120, 21, 0, 120, 0, 0, 21, 21 },
		{ 120, 21, 0, 0, 120, 0, 21, 21 },
		{ 120, 200, 0, 60, 60, 0, 120, 120 },
		/* Everything is overlapped already, except for the ends. */
		{ 49, 1, 20, 66, 64, 0, 4, 4 },
		/*
		 * Copies of one direction that overlap each other: at most their time one after the
		 * other.
		 */
		{ 50, 10, 0, 90, 90, 0, 10, 10 },
		/* Pinning saves half of each direction. */
		{ 120, 21, 0, 60, 60, 60, 81, 120 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct split_sum split = { .transfer_ns = rows[i].transfer,
					   .kernel_ns = rows[i].kernel,
					   .overlap_ns = rows[i].overlap };
		struct whatif_facts facts = { .split = &split,
					      .excess_ns = rows[i].pinned,
					      .up_ns = rows[i].up,
					      .down_ns = rows[i].down,
					      .excess_known = true };
		uint64_t saves = 0, both = 0;

		CHECK(whatif_saves_ns(&facts, WHATIF_OVERLAPPED, &saves));
		CHECK(whatif_saves_ns(&facts, WHATIF_BOTH, &both));
		if (!CHECK_EQ(saves, rows[i].saves) || !CHECK_EQ(both, rows[i].saves_both))
			printf("# row %zu\n", i);
	}
}

TEST(sizes)
{
	static const uint64_t bytes[] = {
		0,         1, 2, 3, 4, 4095, 4096, 4097, 8191, (uint64_t)1 << 37, (uint64_t)1 << 38,
		UINT64_MAX
	};
	struct sizes sizes = { 0 };

	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++) {
		unsigned bin = sizes_bin_of(bytes[i]);

		CHECK(bin < SIZES_BINS && sizes_from(bin) <= bytes[i]);
		CHECK(bin == SIZES_BINS - 1 || bytes[i] < sizes_from(bin + 1));
		sizes_add(&sizes, bytes[i], 10);
	}
	CHECK_EQ(sizes.bin[13].count, 3);
	CHECK_EQ(sizes.bin[13].bytes, 4096 + 4097 + 8191);
	CHECK_EQ(sizes.bin[13].ns, 30);
}

CHECK_MAIN()
