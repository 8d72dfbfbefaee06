/*
 * test_plan.c - every border of the copy planner, one line a case.
 */
#include "base/parse.h"
#include "copy/plan.h"

#include "check.h"

enum { D2H, H2D };
enum { BOX, LINEAR };
enum { SYNC, ASYNC };
enum { PLAIN, CAPTURED };

static const struct {
	enum copy_place place;
	int to_device, linear, asynchronous, captured;
	size_t bytes;
	enum copy_route route;
} table[] = {
	/* Not ours, or not pinned: untouched, whatever else is true. */
	{ COPY_ELSEWHERE, H2D, LINEAR, SYNC, PLAIN, 1 << 20, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, BOX, ASYNC, CAPTURED, 1 << 20, COPY_PASS },
	{ COPY_PAGEABLE, H2D, LINEAR, SYNC, PLAIN, 1 << 20, COPY_PASS },
	{ COPY_PAGEABLE, D2H, LINEAR, ASYNC, PLAIN, 1 << 30, COPY_PASS },
	/* Nothing to move. */
	{ COPY_PINNED, H2D, LINEAR, ASYNC, PLAIN, 0, COPY_PASS },
	{ COPY_STRADDLES, D2H, LINEAR, SYNC, PLAIN, 0, COPY_PASS },
	/* Pinned and synchronous: the driver's call waits by itself. */
	{ COPY_PINNED, H2D, LINEAR, SYNC, PLAIN, 1, COPY_DIRECT },
	{ COPY_PINNED, D2H, LINEAR, SYNC, PLAIN, 1 << 30, COPY_DIRECT },
	{ COPY_PINNED, D2H, BOX, SYNC, PLAIN, 4096, COPY_DIRECT },
	/* Pinned and asynchronous: pageable memory's promises are kept. */
	{ COPY_PINNED, H2D, LINEAR, ASYNC, PLAIN, 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, PLAIN, COPY_BOUNCE_MOST, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, PLAIN, COPY_BOUNCE_MOST + 1, COPY_WAIT },
	{ COPY_PINNED, H2D, BOX, ASYNC, PLAIN, 4096, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, PLAIN, 1, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, PLAIN, 1 << 30, COPY_WAIT },
	/* A border inside: in pieces where that is possible. */
	{ COPY_STRADDLES, H2D, LINEAR, SYNC, PLAIN, 4096, COPY_SPLIT },
	{ COPY_STRADDLES, H2D, LINEAR, ASYNC, PLAIN, 4096, COPY_SPLIT },
	{ COPY_STRADDLES, D2H, LINEAR, ASYNC, PLAIN, 1 << 20, COPY_SPLIT },
	{ COPY_STRADDLES, D2H, BOX, SYNC, PLAIN, 4096, COPY_DIRECT },
	{ COPY_STRADDLES, H2D, BOX, ASYNC, PLAIN, 4096, COPY_WAIT },
	/* A node of a graph: one call, and nothing to wait for. */
	{ COPY_PINNED, H2D, LINEAR, ASYNC, CAPTURED, 4096, COPY_DIRECT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, CAPTURED, 1 << 20, COPY_DIRECT },
	{ COPY_STRADDLES, H2D, LINEAR, ASYNC, CAPTURED, 1 << 20, COPY_DIRECT },
};

TEST(every_border)
{
	for (size_t i = 0; i < HP_LEN(table); i++) {
		struct copy_facts facts = {
			.place = table[i].place,
			.to_device = table[i].to_device == H2D,
			.linear = table[i].linear == LINEAR,
			.asynchronous = table[i].asynchronous == ASYNC,
			.captured = table[i].captured == CAPTURED,
			.bytes = table[i].bytes,
		};

		if (!CHECK_EQ(copy_plan(&facts), table[i].route))
			printf("# row %zu\n", i);
	}
}

CHECK_MAIN()
