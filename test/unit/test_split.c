/*
 * test_split.c - the split of wall time into states: single cases, and a comparison with a slow
 * version that looks at every tick.
 */
#include "trace/collect/split.h"
#include "check.h"
#include "random.h"

#include <stdbool.h>
#include <stdint.h>

#define T SPLIT_TRANSFER
#define K SPLIT_KERNEL
#define C SPLIT_COPY_CALL
#define W SPLIT_WAIT
#define L SPLIT_CALL
#define U SPLIT_START_UP

struct span {
	enum split_layer layer;
	uint64_t start, end;
};

#define SPANS_MOST 8

static const struct split_case {
	const char *name;
	uint64_t begin, end;
	struct span spans[SPANS_MOST]; /* until one that is all 0 */
	uint64_t host, transfer, kernel, overlap, calls, startup;
} cases[] = {
	{ "nothing", 0, 100, { { 0 } }, 100, 0, 0, 0, 0 },
	{ "one transfer", 0, 100, { { T, 10, 30 } }, 80, 20, 0, 0, 0 },
	{ "apart", 0, 100, { { T, 10, 30 }, { K, 40, 50 } }, 70, 20, 10, 0, 0 },
	{ "touching", 0, 100, { { T, 10, 30 }, { K, 30, 50 } }, 60, 20, 20, 0, 0 },
	{ "overlapping", 0, 100, { { T, 10, 30 }, { K, 20, 50 } }, 60, 10, 20, 10, 0 },
	{ "nested", 0, 100, { { K, 10, 90 }, { T, 20, 30 } }, 20, 0, 70, 10, 0 },
	{ "same span twice", 0, 100, { { T, 10, 30 }, { T, 10, 30 } }, 80, 20, 0, 0, 0 },
	{ "overlap in one layer", 0, 100, { { K, 10, 30 }, { K, 20, 40 } }, 70, 0, 30, 0, 0 },
	{ "nested in one layer", 0, 100, { { K, 10, 60 }, { K, 20, 30 } }, 50, 0, 50, 0, 0 },
	{ "unordered", 0, 100, { { K, 60, 70 }, { T, 10, 20 }, { K, 15, 30 } }, 70, 5, 20, 5, 0 },
	{ "zero length", 0, 100, { { T, 10, 10 }, { K, 20, 20 } }, 100, 0, 0, 0, 0 },
	{ "backwards", 0, 100, { { T, 30, 10 } }, 100, 0, 0, 0, 0 },
	{ "before the run", 50, 100, { { T, 10, 40 } }, 50, 0, 0, 0, 0 },
	{ "across the begin", 50, 100, { { T, 10, 60 } }, 40, 10, 0, 0, 0 },
	{ "across the end", 0, 100, { { K, 90, 400 } }, 90, 0, 10, 0, 0 },
	{ "after the end", 0, 100, { { K, 100, 400 } }, 100, 0, 0, 0, 0 },
	{ "all of it", 0, 100, { { K, 0, 100 } }, 0, 0, 100, 0, 0 },
	{ "call around a copy", 0, 100, { { C, 10, 50 }, { T, 20, 40 } }, 60, 20, 0, 0, 20 },
	{ "wait for a kernel", 0, 100, { { W, 10, 50 }, { K, 0, 45 } }, 50, 0, 45, 0, 5 },
	{ "call without work", 0, 100, { { C, 10, 50 }, { W, 40, 60 } }, 50, 0, 0, 0, 50 },
	{ "host busy, device too", 0, 100, { { C, 10, 50 }, { K, 10, 50 } }, 60, 0, 40, 0, 0 },
	{ "any call", 0, 100, { { L, 10, 50 } }, 60, 0, 0, 0, 40 },
	{ "start-up", 0, 100, { { U, 10, 50 } }, 60, 0, 0, 0, 0, 40 },
	{ "start-up during a call", 0, 100, { { U, 10, 50 }, { L, 30, 70 } }, 40, 0, 0, 0, 20, 40 },
	{ "start-up during a kernel",
	  0,
	  100,
	  { { U, 0, 50 }, { K, 40, 60 } },
	  40,
	  0,
	  20,
	  0,
	  0,
	  40 },
	{ "start-up during a transfer", 0, 9, { { U, 0, 9 }, { T, 4, 6 } }, 0, 2, 0, 0, 0, 7 },
	{ "no time at all", 7, 7, { { T, 7, 9 } }, 0, 0, 0, 0, 0 },
};

TEST(cases)
{
	for (const struct split_case *row = cases; row < cases + sizeof(cases) / sizeof(*cases);
	     row++) {
		struct split_span room[SPANS_MOST];
		struct split split;
		struct split_sum sum;

		split_init(&split, room, SPANS_MOST, row->begin);
		for (const struct span *span = row->spans; span->end != 0; span++)
			split_add(&split, span->layer, span->start, span->end);
		split_finish(&split, row->end, &sum);
		bool right = CHECK_EQ(sum.parts.host_ns, row->host);
		right &= CHECK_EQ(sum.parts.transfer_ns, row->transfer);
		right &= CHECK_EQ(sum.parts.kernel_ns, row->kernel);
		right &= CHECK_EQ(sum.parts.overlap_ns, row->overlap);
		right &= CHECK_EQ(sum.parts.startup_ns, row->startup);
		right &= CHECK_EQ(sum.parts.calls_ns, row->calls);
		right &= CHECK_EQ(sum.wall_ns, row->end - row->begin);
		right &= CHECK_EQ(sum.late_ns, 0);
		if (!right)
			printf("# in the case '%s'\n", row->name);
	}
}

#define TICKS 4000

/* Counts one tick in which these layers are active. */
static void count_tick(unsigned layers, struct split_sum *slow)
{
	bool transfer = layers >> T & 1, kernel = layers >> K & 1;
	bool blocked = layers >> C & 1 || layers >> W & 1;

	slow->ahead_ns += !blocked && layers >> SPLIT_DEFERRED & 1;
	if (transfer && kernel)
		slow->parts.overlap_ns++;
	else if (transfer)
		slow->parts.transfer_ns++;
	else if (kernel)
		slow->parts.kernel_ns++;
	else if (layers >> U & 1)
		slow->parts.startup_ns++;
	else if (blocked || layers >> L & 1)
		slow->parts.calls_ns++;
	else
		slow->parts.host_ns++;
}

/* Compares with a count of every tick, in any order, with room for few spans and for all. */
static void against_ticks(size_t room, unsigned disorder, bool exact)
{
	static struct split_span spans[1024];
	static unsigned char ticks[TICKS];
	static uint64_t random;
	struct split split;
	struct split_sum sum;
	struct split_sum slow = { 0 };

	memset(ticks, 0, sizeof(ticks));
	split_init(&split, spans, room, 0);
	for (unsigned i = 0; i < 900; i++) {
		uint64_t start = i * 4 + random_below(&random, disorder);
		uint64_t length = random_below(&random, 9);

		start = start < TICKS ? start : TICKS - 1;
		enum split_layer layer = (enum split_layer)random_below(&random, SPLIT_LAYERS);

		split_add(&split, layer, start, start + length);
		for (uint64_t tick = start; tick < start + length && tick < TICKS; tick++)
			ticks[tick] |= 1 << layer;
	}
	for (int tick = 0; tick < TICKS; tick++)
		count_tick(ticks[tick], &slow);
	split_finish(&split, TICKS, &sum);
	CHECK_EQ(sum.wall_ns, TICKS);
	CHECK_EQ(sum.parts.host_ns + sum.parts.startup_ns + sum.parts.calls_ns +
			 sum.parts.transfer_ns + sum.parts.kernel_ns + sum.parts.overlap_ns,
		 TICKS);
	if (!exact)
		return;
	CHECK_EQ(sum.late_ns, 0);
	CHECK_EQ(sum.parts.host_ns, slow.parts.host_ns);
	CHECK_EQ(sum.parts.transfer_ns, slow.parts.transfer_ns);
	CHECK_EQ(sum.parts.kernel_ns, slow.parts.kernel_ns);
	CHECK_EQ(sum.parts.overlap_ns, slow.parts.overlap_ns);
	CHECK_EQ(sum.parts.startup_ns, slow.parts.startup_ns);
	CHECK_EQ(sum.parts.calls_ns, slow.parts.calls_ns);
	CHECK_EQ(sum.ahead_ns, slow.ahead_ns);
}

TEST(same_as_tick_by_tick)
{
	for (int run = 0; run < 50; run++) {
		against_ticks(1024, 1, true);
		against_ticks(1024, TICKS / 2, true);
		/* Room for 64 spans holds about 128 ticks, so a disorder of 40 is harmless. */
		against_ticks(64, 40, true);
		against_ticks(2, 1, true);
		against_ticks(16, TICKS / 2, false);
	}
}

TEST(what_comes_too_late_is_told)
{
	struct split_span room[2];
	struct split split;
	struct split_sum sum;

	split_init(&split, room, 2, 0);
	split_add(&split, T, 100, 110);
	split_add(&split, T, 200, 210);
	split_add(&split, T, 300, 310);
	split_add(&split, T, 400, 410);
	split_add(&split, K, 20, 40);
	/* Only its time up to 300 is already summed up. */
	split_add(&split, K, 250, 450);
	split_finish(&split, 500, &sum);
	CHECK_EQ(sum.wall_ns, 500);
	CHECK_EQ(sum.parts.transfer_ns, 20);
	CHECK_EQ(sum.parts.overlap_ns, 20);
	CHECK_EQ(sum.parts.kernel_ns, 130);
	CHECK_EQ(sum.late_ns, 70);
}

/* Half a million spans in the worst order must not take minutes. */
TEST(backward_order_is_sorted_fast)
{
	enum { COUNT = 1 << 19 };
	struct split_span *room = malloc(COUNT * sizeof(*room));
	struct split split;
	struct split_sum sum;

	split_init(&split, room, COUNT, 0);
	for (uint64_t i = COUNT; i-- > 0;)
		split_add(&split, T, i * 10, i * 10 + 3);
	split_finish(&split, COUNT * 10, &sum);
	CHECK_EQ(sum.parts.transfer_ns, COUNT * 3);
	free(room);
}

/* Stages in any order, examined before the end: the parts make up the whole. */
TEST(ranges)
{
	struct split_span spans[64];
	struct split split, looked;
	struct split_sum sum, part, all = { 0 };

	split_init(&split, spans, 64, 100);
	split_range(&split, 50, 1); /* before the begin */
	split_range(&split, 400, 0);
	split_add(&split, SPLIT_KERNEL, 150, 350);
	split_range(&split, 300, 2);
	split_add(&split, SPLIT_TRANSFER, 200, 500);
	looked = split;
	split_finish(&looked, 300, &sum);
	CHECK_EQ(sum.wall_ns, 200);
	split_range_sum(&looked, 1, &part);
	CHECK_EQ(part.wall_ns, 200);
	CHECK_EQ(part.parts.host_ns, 50);
	CHECK_EQ(part.parts.kernel_ns, 50);
	CHECK_EQ(part.parts.overlap_ns, 100);
	/* Spans after the look are not lost. */
	split_add(&split, SPLIT_KERNEL, 450, 600);
	split_finish(&split, 1000, &sum);
	CHECK_EQ(sum.wall_ns, 900);
	split_range_sum(&split, 2, &part);
	CHECK_EQ(part.wall_ns, 100);
	CHECK_EQ(part.parts.overlap_ns, 50);
	CHECK_EQ(part.parts.transfer_ns, 50);
	for (unsigned range = 0; range < SPLIT_RANGES; range++) {
		split_range_sum(&split, range, &part);
		all.wall_ns += part.wall_ns;
		all.parts.transfer_ns += part.parts.transfer_ns;
		all.parts.overlap_ns += part.parts.overlap_ns;
	}
	CHECK_EQ(all.wall_ns, sum.wall_ns);
	CHECK_EQ(all.parts.transfer_ns, sum.parts.transfer_ns);
	CHECK_EQ(all.parts.overlap_ns, sum.parts.overlap_ns);
}

CHECK_MAIN()
