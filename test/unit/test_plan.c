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
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, COPY_POCKET_MOST, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, COPY_POCKET_MOST + 1, COPY_WAIT },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_POCKET_MOST + 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM - 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM, COPY_WAIT },
	{ COPY_PINNED, H2D, BOX, ASYNC, FREE, 4096, COPY_WAIT },
	{ COPY_PINNED, H2D, BOX, ASYNC, BEHIND, 4096, COPY_BOUNCE },
	{ COPY_PINNED, H2D, BOX, ASYNC, BEHIND, COPY_BLOCKS_FROM, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, FREE, 1, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, BEHIND, 1, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_WAIT },
	/* A border inside: in pieces where that is possible. */
	{ COPY_STRADDLES, H2D, LINEAR, SYNC, FREE, 4096, COPY_SPLIT },
	{ COPY_STRADDLES, H2D, LINEAR, ASYNC, BEHIND, 4096, COPY_SPLIT },
	{ COPY_STRADDLES, D2H, LINEAR, ASYNC, FREE, 1 << 20, COPY_SPLIT },
	{ COPY_PIECES, D2H, LINEAR, ASYNC, FREE, 64, COPY_SPLIT },
	{ COPY_PIECES, H2D, LINEAR, SYNC, FREE, 64 << 20, COPY_SPLIT },
	{ COPY_PIECES, H2D, LINEAR, SYNC, FREE, COPY_STAGED_MOST, COPY_BOUNCE },
	{ COPY_PIECES, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM - 1, COPY_BOUNCE },
	{ COPY_PIECES, H2D, LINEAR, SYNC, FREE, 0, COPY_PASS },
	{ COPY_PIECES, H2D, BOX, SYNC, FREE, COPY_BLOCKS_FROM, COPY_BOUNCE },
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

/* The route for what cannot be carried out, whatever the copy's size and its stream's work. */
static const struct {
	enum copy_place place;
	int linear, asynchronous;
	enum copy_route route;
} fallbacks[] = {
	{ COPY_ELSEWHERE, LINEAR, SYNC, COPY_PASS },
	{ COPY_PAGEABLE, LINEAR, ASYNC, COPY_PASS },
	{ COPY_PAGEABLE, BOX, SYNC, COPY_PASS },
	{ COPY_PINNED, LINEAR, SYNC, COPY_DIRECT },
	{ COPY_PINNED, LINEAR, ASYNC, COPY_WAIT },
	{ COPY_PINNED, BOX, SYNC, COPY_DIRECT },
	{ COPY_PINNED, BOX, ASYNC, COPY_WAIT },
	/* No call names two registrations. */
	{ COPY_PIECES, LINEAR, SYNC, COPY_SPLIT },
	{ COPY_PIECES, LINEAR, ASYNC, COPY_SPLIT },
	{ COPY_STRADDLES, LINEAR, SYNC, COPY_SPLIT },
	{ COPY_STRADDLES, LINEAR, ASYNC, COPY_SPLIT },
	/* Nor for rows: such a block is unpinned first, or once the driver has refused the call. */
	{ COPY_PIECES, BOX, SYNC, COPY_PASS },
	{ COPY_PIECES, BOX, ASYNC, COPY_PASS },
	{ COPY_STRADDLES, BOX, SYNC, COPY_DIRECT },
	{ COPY_STRADDLES, BOX, ASYNC, COPY_WAIT },
};

TEST(every_fallback)
{
	static const size_t sizes[] = { 1, 12000, 100000, (size_t)1 << 20, COPY_BLOCKS_FROM };

	for (size_t i = 0; i < HP_LEN(fallbacks) * HP_LEN(sizes) * 4; i++) {
		size_t row = i / 4 / HP_LEN(sizes);
		struct copy_facts facts = {
			.place = fallbacks[row].place,
			.to_device = i & 1,
			.linear = fallbacks[row].linear == LINEAR,
			.asynchronous = fallbacks[row].asynchronous == ASYNC,
			.behind_work = i >> 1 & 1,
			.bytes = sizes[i / 4 % HP_LEN(sizes)],
			.deferrable = true,
			.sendable = true,
			.stageable = true,
		};

		if (!CHECK_EQ(copy_plan_fallback(&facts), fallbacks[row].route))
			printf("# row %zu\n", row);
	}
}

/* A bounced source stands in its buffer with its gaps. */
TEST(no_bounce_for_long_gaps)
{
	struct copy_facts facts = { .place = COPY_PINNED,
				    .to_device = true,
				    .asynchronous = true,
				    .behind_work = true,
				    .bytes = 4096,
				    .extent = COPY_BLOCKS_FROM };

	CHECK_EQ(copy_plan(&facts), COPY_BOUNCE);
	facts.extent++;
	CHECK_EQ(copy_plan(&facts), COPY_WAIT);
	facts.forced = COPY_BOUNCE;
	CHECK_EQ(copy_plan(&facts), COPY_WAIT);
}

/* Sizes whose bytes are not worth spelling. */
#define K *(size_t)1024
#define M *(size_t)1048576
enum { NO_RING, RING };

/* Staging: where, how, with how many threads, how many bytes. */
static const struct {
	enum copy_place place;
	int to_device, asynchronous, ring;
	unsigned workers;
	size_t bytes;
	enum copy_route route;
} staging[] = {
	/* From and to what is not pinned by us, of any owner; but not without a ring. */
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_PAGEABLE, H2D, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_PAGEABLE, D2H, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, NO_RING, 4, 64 M, COPY_PASS },
	{ COPY_PAGEABLE, D2H, SYNC, NO_RING, 4, 64 M, COPY_PASS },
	/* What is pinned needs no ring. */
	{ COPY_PINNED, H2D, SYNC, RING, 4, 64 M, COPY_DIRECT },
	{ COPY_PINNED, D2H, ASYNC, RING, 4, 64 M, COPY_WAIT },
	{ COPY_STRADDLES, D2H, SYNC, RING, 4, 64 M, COPY_SPLIT },
	/* Up to the device: not those that the driver takes as fast. */
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 0, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, COPY_STAGE_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, COPY_STAGE_LEAST, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 64 K, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 16 M - 1, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 16 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 2, 16 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 2, 1024 M, COPY_STAGE },
	/* Down from it. */
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, COPY_FETCH_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, COPY_FETCH_LEAST, COPY_STAGE },
	{ COPY_PAGEABLE, D2H, SYNC, RING, 4, 32 K, COPY_STAGE },
	{ COPY_PAGEABLE, D2H, SYNC, NO_RING, 4, 32 K, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, 128 K, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 2, 1024 M, COPY_STAGE },
	/* Alone, or nearly: only where the bus is not what takes the time. */
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 1, COPY_STAGE_LEAST, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 0, 1 M, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 1, 64 M, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 1, COPY_FETCH_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 0, COPY_FETCH_LEAST, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 0, 128 K, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 1, 4 M - 1, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 0, 4 M, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 1, 1024 M, COPY_PASS },
	/* Asynchronous: what the driver takes in at once is its. */
	{ COPY_ELSEWHERE, H2D, ASYNC, RING, 4, COPY_STAGE_LEAST, COPY_PASS },
	{ COPY_PAGEABLE, H2D, ASYNC, RING, 4, 32 M - 1, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, ASYNC, RING, 4, 32 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, ASYNC, RING, 1, 32 M, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, ASYNC, RING, 4, COPY_FETCH_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, ASYNC, RING, 4, COPY_FETCH_LEAST, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, ASYNC, RING, 4, 128 K, COPY_STAGE },
};

TEST(staging_borders)
{
	for (size_t i = 0; i < HP_LEN(staging); i++) {
		struct copy_facts facts = {
			.place = staging[i].place,
			.to_device = staging[i].to_device == H2D,
			.linear = true,
			.asynchronous = staging[i].asynchronous == ASYNC,
			.stageable = staging[i].ring == RING,
			.workers = staging[i].workers,
			.bytes = staging[i].bytes,
		};

		if (!CHECK_EQ(copy_plan(&facts), staging[i].route))
			printf("# row %zu\n", i);
		/* The gain is what the route follows from, with a ring. */
		if (staging[i].ring == RING && staging[i].place <= COPY_PAGEABLE)
			CHECK_EQ(copy_stage_gain_ns(&facts) != 0, staging[i].route == COPY_STAGE);
	}
}

/* A test's wish is heard where every promise can be kept, else the plan is as without it. */
TEST(forced)
{
	static const struct {
		enum copy_route wish;
		enum copy_place place;
		int to_device, asynchronous, ring;
		size_t bytes;
		enum copy_route route;
	} rows[] = {
		{ COPY_PASS, COPY_ELSEWHERE, H2D, SYNC, RING, 64 M, COPY_PASS },
		{ COPY_PASS, COPY_PAGEABLE, D2H, ASYNC, RING, 64 M, COPY_PASS },
		{ COPY_PASS, COPY_PINNED, H2D, SYNC, RING, 64, COPY_PASS },
		{ COPY_PASS, COPY_PINNED, H2D, ASYNC, RING, 64, COPY_BOUNCE },
		{ COPY_PASS, COPY_STRADDLES, H2D, SYNC, RING, 1 M, COPY_SPLIT },
		{ COPY_DIRECT, COPY_PINNED, H2D, SYNC, RING, 64, COPY_DIRECT },
		{ COPY_DIRECT, COPY_PINNED, H2D, ASYNC, RING, 256 K, COPY_WAIT },
		{ COPY_DIRECT, COPY_PAGEABLE, H2D, SYNC, RING, 256 K, COPY_PASS },
		{ COPY_WAIT, COPY_PINNED, H2D, ASYNC, RING, 64, COPY_WAIT },
		{ COPY_WAIT, COPY_PINNED, H2D, SYNC, RING, 64, COPY_BOUNCE },
		{ COPY_BOUNCE, COPY_PINNED, H2D, SYNC, RING, 1 M, COPY_BOUNCE },
		{ COPY_BOUNCE, COPY_PINNED, H2D, ASYNC, RING, COPY_BLOCKS_FROM, COPY_BOUNCE },
		{ COPY_BOUNCE, COPY_PINNED, H2D, SYNC, RING, COPY_BLOCKS_FROM + 1, COPY_DIRECT },
		{ COPY_BOUNCE, COPY_PINNED, D2H, SYNC, RING, 64, COPY_DIRECT },
		{ COPY_SPLIT, COPY_PINNED, D2H, SYNC, RING, 1 M, COPY_SPLIT },
		{ COPY_SPLIT, COPY_PAGEABLE, D2H, SYNC, NO_RING, 1 M, COPY_PASS },
		{ COPY_SEND, COPY_PIECES, H2D, SYNC, RING, 64, COPY_SEND },
		{ COPY_SEND, COPY_PINNED, D2H, SYNC, RING, 1 M, COPY_DIRECT },
		{ COPY_PASS, COPY_PIECES, D2H, SYNC, RING, 1 M, COPY_SEND },
		{ COPY_SPLIT, COPY_PIECES, D2H, SYNC, RING, 1 M, COPY_SPLIT },
		{ COPY_BOUNCE, COPY_PIECES, H2D, SYNC, RING, 1 M, COPY_BOUNCE },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, SYNC, RING, 1, COPY_STAGE },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, ASYNC, RING, 256 K, COPY_STAGE },
		{ COPY_STAGE, COPY_PINNED, D2H, ASYNC, RING, 64 M, COPY_STAGE },
		{ COPY_STAGE, COPY_STRADDLES, H2D, SYNC, RING, 4096, COPY_STAGE },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, SYNC, NO_RING, 64 M, COPY_PASS },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, SYNC, RING, 0, COPY_PASS },
		{ COPY_EARLY, COPY_ELSEWHERE, H2D, SYNC, RING, 1 M, COPY_EARLY },
		{ COPY_EARLY, COPY_PINNED, H2D, SYNC, NO_RING, 1 M, COPY_DIRECT },
		{ COPY_DEFER, COPY_ELSEWHERE, H2D, SYNC, RING, 128 K, COPY_DEFER },
		{ COPY_DEFER, COPY_ELSEWHERE, H2D, SYNC, RING, 128 K + 1, COPY_PASS },
		{ COPY_DEFER, COPY_PINNED, H2D, SYNC, RING, 64 K, COPY_DEFER },
		{ COPY_DEFER, COPY_PINNED, H2D, SYNC, RING, 64 K + 1, COPY_DIRECT },
	};
	unsigned heard = 0;

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		struct copy_facts facts = {
			.place = rows[i].place,
			.to_device = rows[i].to_device == H2D,
			.linear = true,
			.asynchronous = rows[i].asynchronous == ASYNC,
			.stageable = rows[i].ring == RING,
			.sendable = rows[i].place == COPY_PIECES,
			.deferrable = rows[i].wish == COPY_DEFER || rows[i].wish == COPY_EARLY,
			.behind_work = rows[i].wish == COPY_EARLY,
			.workers = 8,
			.bytes = rows[i].bytes,
			.forced = rows[i].wish,
		};

		if (!CHECK_EQ(copy_plan(&facts), rows[i].route))
			printf("# row %zu\n", i);
		heard |= rows[i].route == rows[i].wish ? 1u << rows[i].wish : 0;
	}
	CHECK_EQ(heard, (1u << COPY_ROUTES) - 1 - (1u << COPY_AUTO));
}

/* What may come back early does, wherever it lies, as far as the driver takes it in at once. */
TEST(small_uploads_come_back_early)
{
	for (int place = 0; place < COPY_PLACES; place++) {
		size_t most = place >= COPY_PINNED ? COPY_DEFER_PINNED : COPY_DEFER_MOST;
		struct copy_facts facts = { .place = (enum copy_place)place,
					    .to_device = true,
					    .linear = true,
					    .deferrable = true,
					    .stageable = true,
					    .workers = 8,
					    .bytes = most };

		CHECK_EQ(copy_plan(&facts), COPY_DEFER);
		facts.bytes = 0;
		CHECK_EQ(copy_plan(&facts), COPY_PASS);
		facts.bytes = most + 1;
		CHECK(copy_plan(&facts) != COPY_DEFER);
		facts.bytes = 64;
		facts.linear = false;
		CHECK(copy_plan(&facts) != COPY_DEFER);
		facts.linear = true;
		facts.deferrable = false;
		CHECK(copy_plan(&facts) != COPY_DEFER);
		/* What would wait otherwise is worth a bounce. */
		facts.deferrable = facts.behind_work = true;
		facts.bytes = COPY_DEFER_MOST;
		CHECK_EQ(copy_plan(&facts), COPY_DEFER);
		facts.bytes++;
		CHECK(copy_plan(&facts) != COPY_DEFER);
	}
}

TEST(asked_before_a_bounce)
{
	static const struct {
		size_t bytes;
		enum copy_question question, followed;
	} rows[] = {
		{ 1, COPY_ASK_NOTHING, COPY_ASK_NOTHING },
		{ COPY_STAGED_MOST, COPY_ASK_NOTHING, COPY_ASK_NOTHING },
		{ COPY_STAGED_MOST + 1, COPY_ASK_NOTHING, COPY_ASK_LEGACY_TOO },
		{ 64 K, COPY_ASK_NOTHING, COPY_ASK_LEGACY_TOO },
		{ 64 K + 1, COPY_ASK_STREAM, COPY_ASK_STREAM },
		{ 128 K, COPY_ASK_STREAM, COPY_ASK_STREAM },
	};

	for (int place = 0; place < COPY_PLACES; place++)
		for (size_t i = 0; i < HP_LEN(rows); i++) {
			enum copy_place at = (enum copy_place)place;

			CHECK_EQ(copy_before_bounce(at, rows[i].bytes, false),
				 place < COPY_PINNED ? COPY_ASK_NOTHING : rows[i].question);
			CHECK_EQ(copy_before_bounce(at, rows[i].bytes, true),
				 place < COPY_PINNED ? COPY_ASK_NOTHING : rows[i].followed);
		}
}

/* Who found streams idle eight times in a row asks after eight times and after nine in turn. */
TEST(idle_streams_are_asked_rarely)
{
	uint8_t asked = 0;
	unsigned asks = 0;

	for (int i = 0; i < 8; i++)
		CHECK(copy_asks_again(&asked));
	for (int round = 0; round < 100; round++) {
		for (int turn = 8; turn <= 9; turn++) {
			asks = 0;
			for (int i = 0; i < turn; i++) {
				CHECK_EQ(asks, 0);
				asks += copy_asks_again(&asked);
			}
			CHECK_EQ(asks, 1);
		}
	}
	asked = 0;
	CHECK(copy_asks_again(&asked));
}

/* One copy of so many has work before it: it is asked at one, and of up to eight at each then. */
TEST(busy_ones_among_idle_ones_are_found)
{
	for (int period = 2; period <= 16; period++) {
		uint8_t asked = 0;
		int copies = 0, met = 0;

		/* Idle for a while at first, as long as it likes. */
		for (int i = 0; i < 8 + 3 * period; i++)
			copy_asks_again(&asked);
		for (; met < 3 && copies < 1000; copies++) {
			bool busy = copies % period == 0;

			if (busy && copy_asks_again(&asked)) {
				met++;
				asked = 0;
			} else if (!busy) {
				copy_asks_again(&asked);
			} else if (period <= 8) {
				CHECK_EQ(met, 0);
			}
		}
		CHECK_EQ(met, 3);
	}
}

/* Larger ones by way of the ring, behind work only, and as far as half the ring reaches. */
TEST(large_uploads_behind_work_come_back_early)
{
	for (int place = 0; place < COPY_PLACES; place++) {
		struct copy_facts facts = { .place = (enum copy_place)place,
					    .to_device = true,
					    .linear = true,
					    .deferrable = true,
					    .behind_work = true,
					    .stageable = true,
					    .workers = 8,
					    .bytes = 16 M };

		CHECK_EQ(copy_plan(&facts), COPY_EARLY);
		facts.bytes++;
		CHECK(copy_plan(&facts) != COPY_EARLY);
		facts.bytes = 256 K - 1;
		CHECK(copy_plan(&facts) != COPY_EARLY);
		facts.bytes++;
		CHECK_EQ(copy_plan(&facts), COPY_EARLY);
		facts.behind_work = false;
		CHECK(copy_plan(&facts) != COPY_EARLY);
		facts.behind_work = true;
		facts.linear = false;
		CHECK(copy_plan(&facts) != COPY_EARLY);
		facts.linear = true;
		facts.stageable = false;
		CHECK(copy_plan(&facts) != COPY_EARLY);
		facts.stageable = true;
		facts.deferrable = false;
		CHECK(copy_plan(&facts) != COPY_EARLY);
	}
	CHECK(copy_patience_ns(1 M) > 20000 && copy_patience_ns(1 M) < 40000);
}

/* An asynchronous upload of pinned memory, behind work: the source is the program's on return. */
TEST(large_pinned_sources_are_taken_in_by_the_ring)
{
	for (int place = COPY_PINNED; place <= COPY_PIECES; place++) {
		struct copy_facts facts = { .place = (enum copy_place)place,
					    .to_device = true,
					    .linear = true,
					    .asynchronous = true,
					    .behind_work = true,
					    .stageable = true,
					    .workers = 8,
					    .bytes = 512 K };

		CHECK_EQ(copy_plan(&facts), COPY_STAGE);
		facts.bytes = COPY_BLOCKS_FROM - 1;
		CHECK_EQ(copy_plan(&facts), COPY_STAGE);
		facts.bytes = COPY_BLOCKS_FROM;
		CHECK(copy_plan(&facts) != COPY_STAGE);
		facts.bytes = 512 K - 1;
		CHECK_EQ(copy_plan(&facts), COPY_BOUNCE);
		facts.bytes = 1 M;
		facts.stageable = false;
		CHECK_EQ(copy_plan(&facts), COPY_BOUNCE);
		facts.stageable = true;
		facts.linear = false;
		CHECK_EQ(copy_plan(&facts), COPY_BOUNCE);
		facts.linear = true;
		facts.behind_work = false;
		CHECK(copy_plan(&facts) != COPY_STAGE);
	}
}

/* Rows of a block in pieces: what is not bounced would otherwise be unpinned. */
TEST(rows_across_pieces)
{
	struct copy_facts facts = { .place = COPY_PIECES, .stageable = true, .bytes = 4096 };

	CHECK_EQ(copy_plan(&facts), COPY_STAGE);
	facts.asynchronous = true;
	CHECK_EQ(copy_plan(&facts), COPY_STAGE);
	facts.to_device = true;
	CHECK_EQ(copy_plan(&facts), COPY_BOUNCE);
	facts.extent = COPY_BLOCKS_FROM + 1;
	CHECK_EQ(copy_plan(&facts), COPY_STAGE);
	facts.linear = facts.sendable = true;
	CHECK_EQ(copy_plan(&facts), COPY_SEND);
}

TEST(untouched_memory_is_not_pinned)
{
	struct copy_facts facts = { .stageable = true, .untouched = true, .workers = 2 };

	CHECK(copy_stages_rather_than_pins(&facts));
	facts.workers = 1;
	CHECK(!copy_stages_rather_than_pins(&facts));
	facts.workers = 8;
	facts.to_device = true;
	CHECK(!copy_stages_rather_than_pins(&facts));
	facts.to_device = facts.untouched = false;
	CHECK(!copy_stages_rather_than_pins(&facts));
	facts.untouched = true;
	facts.stageable = false;
	CHECK(!copy_stages_rather_than_pins(&facts));
}

TEST(pieces_and_hands)
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
		CHECK_EQ(copy_piece(rows[i].to_device == H2D, rows[i].bytes), rows[i].piece);
	CHECK_EQ(copy_hands(false, 64 M, false, 0), 0);
	CHECK_EQ(copy_hands(false, 64 M, true, 7), 7);
	CHECK_EQ(copy_hands(true, 1 M, false, 3), 3);
	CHECK_EQ(copy_hands(true, 32 M - 1, false, 8), 4);
	CHECK_EQ(copy_hands(true, 32 M, false, 30), 8);
	CHECK_EQ(copy_hands(false, 16 M - 1, false, 8), 4);
	CHECK_EQ(copy_hands(false, 16 M, false, 30), 8);
	CHECK_EQ(copy_hands(false, 1 M, true, 30), 8);
}

/* A ring is earned by copies of 64 MiB at once, by smaller ones together. */
TEST(what_a_ring_is_worth)
{
	struct copy_facts facts = { .to_device = true, .workers = 8, .bytes = 64 M };

	CHECK(copy_stage_gain_ns(&facts) >= COPY_RING_COST_NS);
	facts.bytes = 16 M;
	CHECK(copy_stage_gain_ns(&facts) < COPY_RING_COST_NS);
	CHECK(copy_stage_gain_ns(&facts) > COPY_RING_COST_NS / 5);
	facts.forced = COPY_PASS;
	CHECK_EQ(copy_stage_gain_ns(&facts), 0);
	facts.forced = COPY_STAGE;
	facts.bytes = 1;
	CHECK(copy_stage_gain_ns(&facts) >= COPY_RING_COST_NS);
}
#undef K
#undef M

/* Several registrations, and a stream that the pieces may be enqueued on. */
TEST(sending)
{
	struct copy_facts facts = { .place = COPY_PIECES, .linear = true, .sendable = true };

	for (unsigned kind = 0; kind < 4; kind++) {
		facts.to_device = kind & 1;
		facts.asynchronous = kind & 2;
		facts.bytes = facts.asynchronous ? COPY_POCKET_MOST : COPY_STAGED_MOST;
		CHECK_EQ(copy_plan(&facts), facts.to_device ? COPY_BOUNCE : COPY_SEND);
		facts.bytes++;
		CHECK_EQ(copy_plan(&facts), COPY_SEND);
		facts.bytes = (size_t)1 << 30;
		CHECK_EQ(copy_plan(&facts), COPY_SEND);
		facts.bytes = COPY_STAGED_MOST;
		CHECK_EQ(copy_plan(&facts), facts.to_device ? COPY_BOUNCE : COPY_SEND);
	}
	facts.place = COPY_PINNED;
	CHECK_EQ(copy_plan(&facts), COPY_BOUNCE);
	facts.place = COPY_STRADDLES;
	CHECK_EQ(copy_plan(&facts), COPY_SPLIT);
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
