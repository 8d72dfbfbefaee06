/*
 * test_pieces.c - the piece size and the number of copy workers, by direction and size.
 */
#include "base/parse.h"
#include "stage/pieces.h"

#include "check.h"

enum { D2H, H2D };

#define K *((size_t)1 << 10)
#define M *((size_t)1 << 20)

TEST(pieces_by_size)
{
	static const struct {
		int to_device;
		size_t bytes, piece;
	} rows[] = {
		{ H2D, 64 K, 128 K }, { H2D, 1 M - 1, 128 K },  { H2D, 1 M, 256 K },
		{ H2D, 4 M, 512 K },  { H2D, 16 M - 1, 512 K }, { H2D, 16 M, 1 M },
		{ D2H, 4 M, 256 K },  { D2H, 16 M, 512 K },     { D2H, 64 M - 1, 512 K },
		{ D2H, 64 M, 1 M },   { D2H, 1024 M, 1 M },     { H2D, 1024 M, 1 M },
	};

	for (size_t i = 0; i < HP_LEN(rows); i++)
		CHECK_EQ(pieces_bytes(rows[i].to_device == H2D, rows[i].bytes), rows[i].piece);
}

TEST(workers_by_size)
{
	CHECK_EQ(pieces_workers(false, 64 M, false, 0), 0);
	CHECK_EQ(pieces_workers(false, 64 M, true, 7), 7);
	CHECK_EQ(pieces_workers(true, 1 M, false, 3), 3);
	CHECK_EQ(pieces_workers(true, 32 M - 1, false, 8), 4);
	CHECK_EQ(pieces_workers(true, 32 M, false, 30), 8);
	CHECK_EQ(pieces_workers(false, 16 M - 1, false, 8), 4);
	CHECK_EQ(pieces_workers(false, 16 M, false, 30), 8);
	CHECK_EQ(pieces_workers(false, 1 M, true, 30), 8);
}

CHECK_MAIN()
