/*
 * test_early.c - which uploads may come back before their source has been read, and where they
 * wait.
 */
#include "defer/early.h"
#include "defer/flight.h"
#include "defer/scratch.h"
#include "defer/touch.h"

#include "check.h"

#define MIB ((size_t)1 << 20)

static const struct {
	struct early_facts facts;
	enum early_way way;
} table[] = {
	{ { EARLY_OFF, FETCH_FINE, true }, EARLY_NOT },
	{ { EARLY_OFF, FETCH_FINE, false }, EARLY_NOT },
	{ { EARLY_BEHIND, FETCH_FINE, true }, EARLY_SCRATCH },
	{ { EARLY_BEHIND, FETCH_FINE, false }, EARLY_NOT },
	{ { EARLY_ALWAYS, FETCH_FINE, true }, EARLY_SCRATCH },
	{ { EARLY_ALWAYS, FETCH_FINE, false }, EARLY_DIRECT },
};

TEST(ways)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct early_facts facts = table[i].facts;

		if (!CHECK_EQ(early_choose(&facts), table[i].way))
			printf("# row %zu\n", i);
		/* Whatever speaks against closing the block speaks against this. */
		for (int refusal = FETCH_FINE + 1; refusal < FETCH_REFUSALS; refusal++) {
			facts.block = (enum fetch_refusal)refusal;
			CHECK_EQ(early_choose(&facts), EARLY_NOT);
		}
	}
}

/* Whole 2 MiB pages, few enough of them, and all of the room. */
TEST(pieces)
{
	for (size_t room = 4096; room < 2048 * MIB; room += room / 3 & -(size_t)4096) {
		size_t piece = early_piece(room);

		CHECK(piece != 0 && piece % (2 * MIB) == 0);
		CHECK((room + piece - 1) / piece <= EARLY_PIECES);
		if (room < 3 * 4096)
			room += 4096;
	}
	CHECK_EQ(early_piece(18 * MIB), 2 * MIB);
	CHECK_EQ(early_piece(32 * MIB), 2 * MIB);
	CHECK_EQ(early_piece(32 * MIB + 4096), 4 * MIB);
}

/* Half of the 0.3 to 0.4 ms that the ring takes for 16 MiB. */
TEST(patience)
{
	uint64_t ns = early_patience_ns(16 * MIB);

	CHECK(ns >= 150000 && ns <= 200000);
	CHECK_EQ(early_patience_ns(32 * MIB) / 1000, 2 * ns / 1000);
}

TEST(scratch_parts)
{
	struct scratch scratch = { .room = 64 * MIB };
	int parts[SCRATCH_PARTS];

	CHECK_EQ(scratch_take(&scratch, 64 * MIB + 1), -1);
	CHECK_EQ(scratch_take(&scratch, SIZE_MAX), -1);
	CHECK_EQ(scratch_take(&scratch, 0), -1);
	for (int i = 0; i < 4; i++) {
		parts[i] = scratch_take(&scratch, 16 * MIB - (size_t)i);
		CHECK(parts[i] >= 0);
		CHECK_EQ(scratch.parts[parts[i]].at, (size_t)i * 16 * MIB);
	}
	CHECK_EQ(scratch_take(&scratch, 1), -1);
	/* A gap serves what fits into it. */
	scratch_give(&scratch, parts[1]);
	CHECK_EQ(scratch_take(&scratch, 16 * MIB + 1), -1);
	parts[1] = scratch_take(&scratch, 3 * MIB);
	CHECK_EQ(scratch.parts[parts[1]].at, 16 * MIB);
	int next = scratch_take(&scratch, 13 * MIB);
	CHECK(next >= 0 && scratch.parts[next].at == 19 * MIB);
	CHECK_EQ(scratch_take(&scratch, 1), -1);
	scratch_give(&scratch, parts[0]);
	scratch_give(&scratch, parts[1]);
	parts[0] = scratch_take(&scratch, 19 * MIB);
	CHECK(parts[0] >= 0 && scratch.parts[parts[0]].at == 0);
}

TEST(as_many_parts_as_there_are)
{
	struct scratch scratch = { .room = 64 * MIB };

	for (int i = 0; i < SCRATCH_PARTS; i++)
		CHECK(scratch_take(&scratch, 5) >= 0);
	CHECK_EQ(scratch_take(&scratch, 5), -1);
	scratch_give(&scratch, 3);
	CHECK_EQ(scratch_take(&scratch, 5), 3);
}

/* No two parts have a byte in common, and what is given back can be had again. */
TEST(random_parts)
{
	struct scratch scratch = { .room = 1000 * 512 };
	unsigned state = 1;

	for (int turn = 0; turn < 20000; turn++) {
		state = state * 1103515245 + 12345;
		if (state >> 16 & 1)
			scratch_take(&scratch, state >> 8 & 0x3ffff);
		else
			scratch_give(&scratch, (int)(state >> 20) % SCRATCH_PARTS);
		for (int i = 0; i < SCRATCH_PARTS; i++)
			for (int k = 0; k < i; k++) {
				size_t a = scratch.parts[i].at, b = scratch.parts[k].at;

				if (!scratch.parts[i].bytes || !scratch.parts[k].bytes)
					continue;
				CHECK(a + scratch.parts[i].bytes <= b ||
				      b + scratch.parts[k].bytes <= a);
				CHECK(a + scratch.parts[i].bytes <= scratch.room);
			}
	}
	for (int i = 0; i < SCRATCH_PARTS; i++)
		scratch_give(&scratch, i);
	CHECK(scratch_take(&scratch, scratch.room) >= 0);
}

/* Lands when its last piece is open; what writers have waited says what the site does next. */
TEST(flights)
{
	const uint32_t site = 0x77001;
	struct flight *flight = flight_take(2, site, 1000), *all[FLIGHTS];

	CHECK(flight != NULL);
	flight_spend(flight, 400);
	flight_landed(flight);
	flight_spend(flight, 600);
	CHECK_EQ(touch_next(site), TOUCH_TRY);
	flight_landed(flight);
	/* One flight, however many pieces. */
	CHECK_EQ(touch_next(site), TOUCH_TRY);
	flight = flight_take(1, site, 1000);
	flight_spend(flight, 1);
	flight_landed(flight);
	CHECK_EQ(touch_next(site), TOUCH_DEFER);
	/* Nothing of the last one's is left. */
	flight = flight_take(1, site, 1000);
	flight_spend(flight, 1001);
	flight_landed(flight);
	CHECK_EQ(touch_next(site), TOUCH_WAIT);
	for (int i = 0; i < FLIGHTS; i++)
		CHECK((all[i] = flight_take(1, site, 1)) != NULL);
	CHECK(flight_take(1, site, 1) == NULL);
	flight_landed(all[5]);
	CHECK(flight_take(1, site, 1) == all[5]);
	flight_after_fork_child();
	CHECK(flight_take(3, site, 1) == all[0]);
}

CHECK_MAIN()
