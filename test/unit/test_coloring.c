/*
 * test_coloring.c - the start addresses of blocks, which address coloring spreads.
 */
#include "heap/coloring.h"

#include "check.h"
#include "sizes.h"

TEST(offsets_are_aligned_and_bounded)
{
	static const size_t sizes[] = { 1, 256 << 10, 2 * MIB - 1, 2 * MIB, 64 * MIB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t alignment = 1; alignment <= 4 * MIB; alignment *= 2) {
			for (unsigned turn = 0; turn < 40; turn++) {
				size_t offset = coloring_offset(turn, sizes[i], alignment);

				CHECK(offset % alignment == 0 && offset % 64 == 0);
				CHECK(offset <= coloring_most(sizes[i], alignment));
			}
		}
	}
	CHECK(coloring_most(2 * MIB - 1, 1) < 4096);
	CHECK(coloring_most(2 * MIB, 1) < (size_t)64 << 10);
}

/* The blocks of a round differ in their low bits, both in 12 and in 21 of them. */
TEST(a_round_differs)
{
	for (unsigned a = 0; a < COLORING_TURNS; a++) {
		for (unsigned b = 0; b < a; b++) {
			CHECK(coloring_offset(a, 2 * MIB, 16) % 4096 !=
			      coloring_offset(b, 2 * MIB, 16) % 4096);
			CHECK(coloring_offset(a, MIB, 16) != coloring_offset(b, MIB, 16));
			CHECK(coloring_offset(a, 2 * MIB, 4096) !=
			      coloring_offset(b, 2 * MIB, 4096));
		}
	}
}

TEST(no_choice)
{
	CHECK_EQ(coloring_offset(7, 64 * MIB, 64 << 10), 0);
	CHECK_EQ(coloring_offset(7, MIB, 4096), 0);
	CHECK_EQ(coloring_most(64 * MIB, 64 << 10), 0);
}

CHECK_MAIN()
