/*
 * test_pieces.c - what the area and the copy workers rely on, for copies of every size.
 */
#include "stage/area.h"
#include "stage/stage.h"

#include "check.h"
#include "sizes.h"

#include <stdint.h>

#define WORKERS_MOST 30

TEST(pieces_are_powers_of_two_that_grow_with_the_copy)
{
	for (int to_device = 0; to_device < 2; to_device++) {
		size_t before = AREA_PIECE;

		for (size_t bytes = KIB; bytes < 64 * GIB; bytes += bytes / 7) {
			size_t piece = stage_piece_bytes(to_device, bytes);

			CHECK(piece >= before && (piece & (piece - 1)) == 0);
			before = piece;
		}
		CHECK(before > AREA_PIECE);
	}
}

TEST(workers_are_never_more_than_there_are)
{
	for (size_t bytes = KIB; bytes < 64 * GIB; bytes *= 2)
		for (unsigned workers = 0; workers < WORKERS_MOST; workers++) {
			unsigned down = stage_workers(false, bytes, false, workers);
			unsigned untouched = stage_workers(false, bytes, true, workers);
			unsigned up = stage_workers(true, bytes, false, workers);

			CHECK(down <= workers && untouched <= workers && up <= workers);
			CHECK(workers == 0 || (down > 0 && up > 0));
			/* Workers also touch the pages of an untouched download. */
			CHECK(untouched >= down);
		}
}

CHECK_MAIN()
