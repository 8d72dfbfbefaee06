/*
 * test_plan.c - every border of the copy planner, one line a case.
 */
#include "base/parse.h"
#include "copy/plan.h"

#include "check.h"

enum { D2H, H2D };
enum { BOX, LINEAR };
enum { SYNC, ASYNC };
enum { FREE, BEHIND };

static const struct {
	enum copy_place place;
	int to_device, linear, asynchronous, behind_work;
	size_t bytes;
	enum copy_route route;
} table[] = {
	/* Not ours, or not pinned: untouched, whatever else is true. */
	{ COPY_ELSEWHERE, H2D, LINEAR, SYNC, FREE, 1 << 20, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, BOX, ASYNC, BEHIND, 1 << 20, COPY_PASS },
	{ COPY_PAGEABLE, H2D, LINEAR, SYNC, FREE, 1 << 20, COPY_PASS },
	{ COPY_PAGEABLE, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_PASS },
	{ COPY_PAGEABLE, H2D, LINEAR, ASYNC, BEHIND, 64, COPY_PASS },
	/* Nothing to move. */
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, 0, COPY_PASS },
	{ COPY_STRADDLES, D2H, LINEAR, SYNC, FREE, 0, COPY_PASS },
	/* Pinned and synchronous: the driver's call waits by itself; tiny uploads are staged. */
	{ COPY_PINNED, H2D, LINEAR, SYNC, FREE, 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, SYNC, FREE, COPY_STAGED_MOST, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, SYNC, FREE, COPY_STAGED_MOST + 1, COPY_DIRECT },
	{ COPY_PINNED, H2D, BOX, SYNC, FREE, 64, COPY_DIRECT },
	{ COPY_PINNED, D2H, LINEAR, SYNC, FREE, 1, COPY_DIRECT },
	{ COPY_PINNED, D2H, LINEAR, SYNC, FREE, 1 << 30, COPY_DIRECT },
	{ COPY_PINNED, D2H, BOX, SYNC, FREE, 4096, COPY_DIRECT },
	/* Pinned and asynchronous: pageable memory's promises are kept. */
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, COPY_STAGED_MOST, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, COPY_STAGED_MOST + 1, COPY_WAIT },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_STAGED_MOST + 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM - 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM, COPY_WAIT },
	{ COPY_PINNED, H2D, BOX, ASYNC, BEHIND, 4096, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, FREE, 1, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, BEHIND, 1, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_WAIT },
	/* A border inside: in pieces where that is possible. */
	{ COPY_STRADDLES, H2D, LINEAR, SYNC, FREE, 4096, COPY_SPLIT },
	{ COPY_STRADDLES, H2D, LINEAR, ASYNC, BEHIND, 4096, COPY_SPLIT },
	{ COPY_STRADDLES, D2H, LINEAR, ASYNC, FREE, 1 << 20, COPY_SPLIT },
	{ COPY_STRADDLES, D2H, BOX, SYNC, FREE, 4096, COPY_DIRECT },
	{ COPY_STRADDLES, H2D, BOX, ASYNC, FREE, 4096, COPY_WAIT },
};

TEST(every_border)
{
	for (size_t i = 0; i < HP_LEN(table); i++) {
		struct copy_facts facts = {
			.place = table[i].place,
			.to_device = table[i].to_device == H2D,
			.linear = table[i].linear == LINEAR,
			.asynchronous = table[i].asynchronous == ASYNC,
			.behind_work = table[i].behind_work == BEHIND,
			.bytes = table[i].bytes,
		};

		if (!CHECK_EQ(copy_plan(&facts), table[i].route))
			printf("# row %zu\n", i);
	}
}

TEST(who_gains)
{
	CHECK(copy_gains_from_pinning(true, false, 1));
	CHECK(copy_gains_from_pinning(false, false, 1));
	CHECK(copy_gains_from_pinning(false, true, 1));
	CHECK(!copy_gains_from_pinning(true, true, 1));
	CHECK(!copy_gains_from_pinning(true, true, COPY_BLOCKS_FROM - 1));
	CHECK(copy_gains_from_pinning(true, true, COPY_BLOCKS_FROM));
}

CHECK_MAIN()
