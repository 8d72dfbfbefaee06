/*
 * test_plan.c - the copy planner: one row for every boundary.
 */
#include "base/parse.h"
#include "engine/plan.h"

#include "check.h"

/* All queries have been answered. */
#define ANSWERED .answered = ~0u

static enum copy_step route_of(const struct copy_facts *facts)
{
	enum copy_step step = copy_plan(facts);

	CHECK(step < COPY_ROUTES);
	return step;
}

enum { D2H, H2D };
enum { BOX, LINEAR };
enum { SYNC, ASYNC };
enum { FREE, BEHIND };

static const struct {
	enum copy_host_memory host_memory;
	int to_device, linear, asynchronous, behind_work;
	size_t bytes;
	enum copy_step route;
} table[] = {
	/* Other memory, or memory that is not pinned, is passed through in every case. */
	{ COPY_ELSEWHERE, H2D, LINEAR, SYNC, FREE, 1 << 20, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, BOX, ASYNC, BEHIND, 1 << 20, COPY_PASS },
	{ COPY_PAGEABLE, H2D, LINEAR, SYNC, FREE, 1 << 20, COPY_PASS },
	{ COPY_PAGEABLE, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_PASS },
	{ COPY_PAGEABLE, H2D, LINEAR, ASYNC, BEHIND, 64, COPY_PASS },
	/* Nothing to move. */
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, 0, COPY_PASS },
	/* Pinned and synchronous: the driver's call itself waits; tiny uploads are staged. */
	{ COPY_PINNED, H2D, LINEAR, SYNC, FREE, 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, SYNC, FREE, COPY_STAGED_MOST, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, SYNC, FREE, COPY_STAGED_MOST + 1, COPY_DIRECT },
	{ COPY_PINNED, H2D, BOX, SYNC, FREE, 64, COPY_DIRECT },
	{ COPY_PINNED, D2H, LINEAR, SYNC, FREE, 1, COPY_DIRECT },
	{ COPY_PINNED, D2H, LINEAR, SYNC, FREE, 1 << 30, COPY_DIRECT },
	{ COPY_PINNED, D2H, BOX, SYNC, FREE, 4096, COPY_DIRECT },
	/* Pinned and asynchronous: the guarantees of pageable memory hold. */
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, COPY_SLOTS_MOST, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, FREE, COPY_SLOTS_MOST + 1, COPY_WAIT },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_SLOTS_MOST + 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM - 1, COPY_BOUNCE },
	{ COPY_PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM, COPY_WAIT },
	{ COPY_PINNED, H2D, BOX, ASYNC, FREE, 4096, COPY_WAIT },
	{ COPY_PINNED, H2D, BOX, ASYNC, BEHIND, 4096, COPY_BOUNCE },
	{ COPY_PINNED, H2D, BOX, ASYNC, BEHIND, COPY_BLOCKS_FROM, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, FREE, 1, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, BEHIND, 1, COPY_WAIT },
	{ COPY_PINNED, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_WAIT },
};

TEST(every_border)
{
	for (size_t i = 0; i < HP_LEN(table); i++) {
		struct copy_facts facts = {
			ANSWERED,
			.has_device = true,
			.may_defer = true,
			.host_memory = table[i].host_memory,
			.to_device = table[i].to_device == H2D,
			.to_host = table[i].to_device == D2H,
			.linear = table[i].linear == LINEAR,
			.asynchronous = table[i].asynchronous == ASYNC,
			.stream_busy = table[i].behind_work == BEHIND,
			.bytes = table[i].bytes,
		};

		if (!CHECK_EQ(route_of(&facts), table[i].route))
			printf("# row %zu\n", i);
	}
}

/* The route without staging memory, for every size and stream state. */
static const struct {
	enum copy_host_memory host_memory;
	int linear, asynchronous;
	enum copy_step route;
} lasts[] = {
	{ COPY_ELSEWHERE, LINEAR, SYNC, COPY_PASS }, { COPY_PAGEABLE, LINEAR, ASYNC, COPY_PASS },
	{ COPY_PAGEABLE, BOX, SYNC, COPY_PASS },     { COPY_PINNED, LINEAR, SYNC, COPY_DIRECT },
	{ COPY_PINNED, LINEAR, ASYNC, COPY_WAIT },   { COPY_PINNED, BOX, SYNC, COPY_DIRECT },
	{ COPY_PINNED, BOX, ASYNC, COPY_WAIT },
};

static struct copy_facts facts_of_last(size_t row, bool to_device, bool busy, size_t bytes)
{
	return (struct copy_facts){
		ANSWERED,
		.has_device = true,
		.host_memory = lasts[row].host_memory,
		.to_device = to_device,
		.to_host = !to_device,
		.linear = lasts[row].linear == LINEAR,
		.asynchronous = lasts[row].asynchronous == ASYNC,
		.stream_busy = busy,
		.bytes = bytes,
		.deferrable = true,
		.stageable = true,
	};
}

TEST(every_fallback)
{
	static const size_t sizes[] = { 1, 12000, 100000, (size_t)1 << 20, COPY_BLOCKS_FROM };
	static const enum copy_step with_memory[] = { COPY_BOUNCE, COPY_STAGE, COPY_DEFER };

	for (size_t i = 0; i < HP_LEN(lasts) * HP_LEN(sizes) * 4; i++) {
		size_t row = i / 4 / HP_LEN(sizes);
		struct copy_facts facts =
			facts_of_last(row, i & 1, i >> 1 & 1, sizes[i / 4 % HP_LEN(sizes)]);

		for (size_t j = 0; j < HP_LEN(with_memory); j++)
			CHECK_EQ(copy_plan_fallback(&facts, with_memory[j]), lasts[row].route);
	}
}

/* Of a block that another thread has taken, the driver gets no address. */
TEST(a_block_that_is_taken)
{
	static const size_t sizes[] = {
		1, 12000, 100000, (size_t)1 << 20, COPY_BLOCKS_FROM, (size_t)1 << 30
	};

	for (size_t i = 0; i < HP_LEN(sizes) * 16; i++) {
		struct copy_facts facts = facts_of_last(0, i & 1, i >> 1 & 1, sizes[i / 16]);

		facts.host_memory = COPY_TAKEN;
		facts.in_block = true;
		facts.asynchronous = i >> 2 & 1;
		facts.forced = i >> 3 & 1 ? COPY_PASS : COPY_AUTO;
		facts.workers = 8;
		enum copy_step route = route_of(&facts);
		CHECK(route == COPY_BOUNCE || route == COPY_STAGE || route == COPY_DEFER);
		CHECK_EQ(copy_plan_fallback(&facts, route), COPY_BOUNCE);
	}
}

/* After a few fallbacks there is always a route that cannot fail. */
TEST(fallbacks_end)
{
	for (size_t row = 0; row < HP_LEN(lasts); row++)
		for (int route = COPY_PASS; route < COPY_ROUTES; route++) {
			struct copy_facts facts = facts_of_last(row, true, true, 100000);
			enum copy_step last = (enum copy_step)route;

			for (int turn = 0; turn < 4; turn++)
				last = copy_plan_fallback(&facts, last);
			CHECK_EQ(copy_plan_fallback(&facts, last), last);
			CHECK(last == COPY_PASS || last == COPY_DIRECT || last == COPY_WAIT ||
			      last == COPY_UNPIN);
		}
	CHECK_EQ(copy_plan_fallback(&(struct copy_facts){ 0 }, COPY_UNPIN), COPY_UNPIN);
}

/* A bounce buffer contains the source with its gaps. */
TEST(no_bounce_for_long_gaps)
{
	struct copy_facts facts = { ANSWERED,
				    .has_device = true,
				    .may_defer = true,
				    .host_memory = COPY_PINNED,
				    .to_device = true,
				    .asynchronous = true,
				    .stream_busy = true,
				    .bytes = 4096,
				    .extent = COPY_BLOCKS_FROM };

	CHECK_EQ(route_of(&facts), COPY_BOUNCE);
	facts.extent++;
	CHECK_EQ(route_of(&facts), COPY_WAIT);
	facts.forced = COPY_BOUNCE;
	CHECK_EQ(route_of(&facts), COPY_WAIT);
}

/* Sizes in short. */
#define K *(size_t)1024
#define M *(size_t)1048576
enum { NO_RING, RING };

/* Staging: memory, direction, kind of call, ring, workers, bytes. */
static const struct {
	enum copy_host_memory host_memory;
	int to_device, asynchronous, ring;
	unsigned workers;
	size_t bytes;
	enum copy_step route;
} staging[] = {
	/* Staged from and to any memory that we did not pin; but not without a ring. */
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_PAGEABLE, H2D, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_PAGEABLE, D2H, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, NO_RING, 4, 64 M, COPY_PASS },
	{ COPY_PAGEABLE, D2H, SYNC, NO_RING, 4, 64 M, COPY_PASS },
	/* Pinned memory needs no ring. */
	{ COPY_PINNED, H2D, SYNC, RING, 4, 64 M, COPY_DIRECT },
	{ COPY_PINNED, D2H, ASYNC, RING, 4, 64 M, COPY_WAIT },
	/* Uploads, except those for which the driver is as fast. */
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 0, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, COPY_STAGE_H2D_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, COPY_STAGE_H2D_LEAST, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 64 K, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 16 M - 1, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 4, 16 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 2, 16 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 2, 1024 M, COPY_STAGE },
	/* Downloads. */
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, COPY_STAGE_D2H_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, COPY_STAGE_D2H_LEAST, COPY_STAGE },
	{ COPY_PAGEABLE, D2H, SYNC, RING, 4, 32 K, COPY_STAGE },
	{ COPY_PAGEABLE, D2H, SYNC, NO_RING, 4, 32 K, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 4, 128 K, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 2, 1024 M, COPY_STAGE },
	/* With one worker or none, only if the bus is not the limit. */
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 1, COPY_STAGE_H2D_LEAST, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 0, 1 M, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, SYNC, RING, 1, 64 M, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 1, COPY_STAGE_D2H_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 0, COPY_STAGE_D2H_LEAST, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 0, 128 K, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 1, 4 M - 1, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 0, 4 M, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, SYNC, RING, 1, 1024 M, COPY_PASS },
	/* Asynchronous: the driver copies smaller ones as fast. */
	{ COPY_ELSEWHERE, H2D, ASYNC, RING, 4, 8 M - 1, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, ASYNC, RING, 4, 8 M, COPY_STAGE },
	{ COPY_ELSEWHERE, H2D, ASYNC, RING, 1, 8 M, COPY_PASS },
	{ COPY_ELSEWHERE, H2D, ASYNC, NO_RING, 4, 8 M, COPY_PASS },
	{ COPY_PAGEABLE, H2D, ASYNC, RING, 2, 8 M, COPY_STAGE },
	{ COPY_PINNED, H2D, ASYNC, RING, 4, 8 M, COPY_WAIT },
	{ COPY_ELSEWHERE, D2H, ASYNC, RING, 4, COPY_STAGE_D2H_LEAST - 1, COPY_PASS },
	{ COPY_ELSEWHERE, D2H, ASYNC, RING, 4, COPY_STAGE_D2H_LEAST, COPY_STAGE },
	{ COPY_ELSEWHERE, D2H, ASYNC, RING, 4, 128 K, COPY_STAGE },
};

TEST(staging_borders)
{
	for (size_t i = 0; i < HP_LEN(staging); i++) {
		struct copy_facts facts = {
			ANSWERED,
			.has_device = true,
			.may_defer = true,
			.host_memory = staging[i].host_memory,
			.to_device = staging[i].to_device == H2D,
			.to_host = staging[i].to_device == D2H,
			.linear = true,
			.asynchronous = staging[i].asynchronous == ASYNC,
			.stageable = staging[i].ring == RING,
			.workers = staging[i].workers,
			.bytes = staging[i].bytes,
		};

		if (!CHECK_EQ(route_of(&facts), staging[i].route))
			printf("# row %zu\n", i);
		/* With a ring, the gain determines the route. */
		if (staging[i].ring == RING && staging[i].host_memory <= COPY_PAGEABLE)
			CHECK_EQ(copy_stage_gain_ns(&facts) != 0, staging[i].route == COPY_STAGE);
	}
}

/* A forced route is taken if every guarantee can be kept; otherwise the plan is unchanged. */
TEST(forced)
{
	static const struct {
		enum copy_step forced;
		enum copy_host_memory host_memory;
		int to_device, asynchronous, ring;
		size_t bytes;
		enum copy_step route;
	} rows[] = {
		{ COPY_PASS, COPY_ELSEWHERE, H2D, SYNC, RING, 64 M, COPY_PASS },
		{ COPY_PASS, COPY_PAGEABLE, D2H, ASYNC, RING, 64 M, COPY_PASS },
		{ COPY_PASS, COPY_PINNED, H2D, SYNC, RING, 64, COPY_PASS },
		{ COPY_PASS, COPY_PINNED, H2D, ASYNC, RING, 64, COPY_BOUNCE },
		{ COPY_DIRECT, COPY_PINNED, H2D, SYNC, RING, 64, COPY_DIRECT },
		{ COPY_DIRECT, COPY_PINNED, H2D, ASYNC, RING, 256 K, COPY_WAIT },
		{ COPY_DIRECT, COPY_PAGEABLE, H2D, SYNC, RING, 256 K, COPY_PASS },
		{ COPY_WAIT, COPY_PINNED, H2D, ASYNC, RING, 64, COPY_WAIT },
		{ COPY_WAIT, COPY_PINNED, H2D, SYNC, RING, 64, COPY_BOUNCE },
		{ COPY_BOUNCE, COPY_PINNED, H2D, SYNC, RING, 1 M, COPY_BOUNCE },
		{ COPY_BOUNCE, COPY_PINNED, H2D, ASYNC, RING, COPY_BLOCKS_FROM, COPY_BOUNCE },
		{ COPY_BOUNCE, COPY_PINNED, H2D, SYNC, RING, COPY_BLOCKS_FROM + 1, COPY_DIRECT },
		{ COPY_BOUNCE, COPY_PINNED, D2H, SYNC, RING, 64, COPY_DIRECT },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, SYNC, RING, 1, COPY_STAGE },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, ASYNC, RING, 4 M, COPY_STAGE },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, ASYNC, RING, 4 M - 1, COPY_PASS },
		{ COPY_STAGE, COPY_PINNED, D2H, ASYNC, RING, 64 M, COPY_STAGE },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, SYNC, NO_RING, 64 M, COPY_PASS },
		{ COPY_STAGE, COPY_ELSEWHERE, H2D, SYNC, RING, 0, COPY_PASS },
		{ COPY_DEFER, COPY_ELSEWHERE, H2D, SYNC, RING, 128 K, COPY_DEFER },
		{ COPY_DEFER, COPY_ELSEWHERE, H2D, SYNC, RING, 128 K + 1, COPY_PASS },
		{ COPY_DEFER, COPY_PINNED, H2D, SYNC, RING, 64 K, COPY_DEFER },
		{ COPY_DEFER, COPY_PINNED, H2D, SYNC, RING, 64 K + 1, COPY_DIRECT },
	};
	unsigned heard = 0;

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		struct copy_facts facts = {
			ANSWERED,
			.has_device = true,
			.may_defer = true,
			.host_memory = rows[i].host_memory,
			.to_device = rows[i].to_device == H2D,
			.to_host = rows[i].to_device == D2H,
			.linear = true,
			.asynchronous = rows[i].asynchronous == ASYNC,
			.stageable = rows[i].ring == RING,
			.deferrable = rows[i].forced == COPY_DEFER,
			.workers = 8,
			.bytes = rows[i].bytes,
			.forced = rows[i].forced,
		};

		if (!CHECK_EQ(route_of(&facts), rows[i].route))
			printf("# row %zu\n", i);
		heard |= rows[i].route == rows[i].forced ? 1u << rows[i].forced : 0;
	}
	/* Unpinning cannot be forced: the call would be the same. */
	CHECK_EQ(heard, (1u << COPY_UNPIN) - 1 - (1u << COPY_AUTO));
}

/* Small uploads return early from any memory, as far as the driver copies them immediately. */
TEST(small_uploads_return_early)
{
	for (int host_memory = 0; host_memory <= COPY_PINNED; host_memory++) {
		size_t most = host_memory >= COPY_PINNED ? COPY_DEFER_PINNED : COPY_DEFER_MOST;
		struct copy_facts facts = {
			ANSWERED,           .has_device = true,
			.may_defer = true,  .host_memory = (enum copy_host_memory)host_memory,
			.to_device = true,  .linear = true,
			.deferrable = true, .stageable = true,
			.workers = 8,       .bytes = most
		};

		CHECK_EQ(route_of(&facts), COPY_DEFER);
		facts.bytes = 0;
		CHECK_EQ(route_of(&facts), COPY_PASS);
		facts.bytes = most + 1;
		CHECK(route_of(&facts) != COPY_DEFER);
		facts.bytes = 64;
		facts.linear = false;
		CHECK(route_of(&facts) != COPY_DEFER);
		facts.linear = true;
		facts.deferrable = false;
		CHECK(route_of(&facts) != COPY_DEFER);
		/* A bounce is worthwhile for an upload that would wait otherwise. */
		facts.deferrable = facts.stream_busy = true;
		facts.bytes = COPY_DEFER_MOST;
		CHECK_EQ(route_of(&facts), COPY_DEFER);
		facts.bytes++;
		CHECK(route_of(&facts) != COPY_DEFER);
	}
}

#define BIT(question) (1u << COPY_ASK_##question)

/* Answers the plan's queries from `truth`.  Returns a bit for each query. */
static uint32_t questions_of(struct copy_facts *facts, const struct copy_facts *truth)
{
	for (enum copy_step ask; (ask = copy_plan(facts)) > COPY_ROUTES;) {
		/* No query is repeated. */
		if (!CHECK((facts->answered >> ask & 1) == 0))
			break;
		facts->answered |= 1u << ask;
		facts->captured |= ask == COPY_ASK_CAPTURE && truth->captured;
		facts->deferrable |= ask == COPY_ASK_DEFERRAL && truth->deferrable;
		facts->stream_busy |= ask == COPY_ASK_STREAM && truth->stream_busy;
		facts->legacy_busy |= ask == COPY_ASK_LEGACY && truth->legacy_busy;
		facts->stageable |= ask == COPY_ASK_STAGING && truth->stageable;
		if (ask == COPY_ASK_HOST_MEMORY)
			facts->host_memory = truth->host_memory;
	}
	return facts->answered;
}

static struct copy_facts upload_of(size_t bytes, bool asynchronous)
{
	return (struct copy_facts){ .to_device = true,
				    .linear = true,
				    .asynchronous = asynchronous,
				    .has_device = true,
				    .in_block = true,
				    .may_defer = true,
				    .host_memory = COPY_PAGEABLE,
				    .workers = 8,
				    .bytes = bytes,
				    .extent = bytes };
}

/*
 * Before a small synchronous upload is bounced: the device may read the source of an idle stream.
 */
TEST(asked_before_a_bounce)
{
	static const struct {
		size_t bytes;
		uint32_t asked, followed;
	} rows[] = {
		{ 1, 0, 0 },
		{ COPY_STAGED_MOST, 0, 0 },
		{ COPY_STAGED_MOST + 1, 0, BIT(STREAM) },
		{ 64 K, 0, BIT(STREAM) },
		{ 64 K + 1, BIT(STREAM), BIT(STREAM) },
		{ 128 K, BIT(STREAM), BIT(STREAM) },
	};
	const uint32_t about_streams = BIT(STREAM) | BIT(LEGACY);

	for (int host_memory = 0; host_memory <= COPY_PINNED; host_memory++)
		for (size_t i = 0; i < HP_LEN(rows) * 2; i++) {
			struct copy_facts facts = upload_of(rows[i / 2].bytes, false);
			struct copy_facts truth = { .host_memory =
							    (enum copy_host_memory)host_memory,
						    .deferrable = true };
			uint32_t wanted = i % 2 != 0 ? rows[i / 2].followed : rows[i / 2].asked;

			facts.downloads_follow = i % 2 != 0;
			CHECK_EQ(questions_of(&facts, &truth) & about_streams,
				 host_memory < COPY_PINNED ? 0 : wanted);
		}
}

/*
 * The driver returns from a small synchronous upload on the thread's own stream while the legacy
 * stream is busy.
 */
TEST(own_streams_wait_for_no_others)
{
	static const struct {
		size_t bytes;
		uint32_t asked;
		enum copy_step idle, behind_legacy;
	} rows[] = {
		{ COPY_STAGED_MOST, 0, COPY_BOUNCE, COPY_BOUNCE },
		{ COPY_STAGED_MOST + 1, BIT(STREAM) | BIT(LEGACY), COPY_DIRECT, COPY_BOUNCE },
		{ 64 K, BIT(STREAM) | BIT(LEGACY), COPY_DIRECT, COPY_BOUNCE },
		{ 64 K + 1, 0, COPY_DIRECT, COPY_DIRECT },
	};

	for (size_t i = 0; i < HP_LEN(rows) * 2; i++) {
		struct copy_facts facts = upload_of(rows[i / 2].bytes, false);
		struct copy_facts truth = { .host_memory = COPY_PINNED,
					    .deferrable = true,
					    .legacy_busy = i % 2 != 0 };

		facts.own_stream = true;
		CHECK_EQ(questions_of(&facts, &truth), BIT(HOST_MEMORY) | rows[i / 2].asked);
		CHECK_EQ(route_of(&facts),
			 i % 2 != 0 ? rows[i / 2].behind_legacy : rows[i / 2].idle);
	}
}

/* The queries for each kind of copy, and the resulting route. */
static const struct {
	const char *what;
	size_t bytes;
	bool asynchronous;
	struct copy_facts truth;
	uint32_t asked;
	enum copy_step route;
} conversations[] = {
	{ "empty", 0, false, { .host_memory = COPY_PINNED }, 0, COPY_PASS },
	{ "small, deferred",
	  4096,
	  false,
	  { .host_memory = COPY_PAGEABLE, .deferrable = true },
	  BIT(DEFERRAL) | BIT(HOST_MEMORY),
	  COPY_DEFER },
	{ "small, with host-visible work",
	  4096,
	  false,
	  { .host_memory = COPY_PAGEABLE },
	  BIT(DEFERRAL) | BIT(HOST_MEMORY),
	  COPY_PASS },
	{ "pinned",
	  1 M,
	  false,
	  { .host_memory = COPY_PINNED, .stream_busy = true, .deferrable = true },
	  BIT(HOST_MEMORY),
	  COPY_DIRECT },
	{ "pageable, large",
	  64 M,
	  false,
	  { .host_memory = COPY_PAGEABLE, .stageable = true },
	  BIT(HOST_MEMORY) | BIT(WORKERS) | BIT(STAGING),
	  COPY_STAGE },
	{ "asynchronous, small",
	  4096,
	  true,
	  { .host_memory = COPY_PINNED },
	  BIT(HOST_MEMORY),
	  COPY_BOUNCE },
	{ "asynchronous, idle",
	  1 M,
	  true,
	  { .host_memory = COPY_PINNED },
	  BIT(HOST_MEMORY) | BIT(STREAM) | BIT(LEGACY),
	  COPY_WAIT },
	{ "asynchronous, busy",
	  256 K,
	  true,
	  { .host_memory = COPY_PINNED, .stream_busy = true },
	  BIT(HOST_MEMORY) | BIT(STREAM),
	  COPY_BOUNCE },
	{ "asynchronous, behind the legacy stream",
	  256 K,
	  true,
	  { .host_memory = COPY_PINNED, .legacy_busy = true },
	  BIT(HOST_MEMORY) | BIT(STREAM) | BIT(LEGACY),
	  COPY_BOUNCE },
	{ "asynchronous, too large for the driver to stage",
	  4 M,
	  true,
	  { .host_memory = COPY_PINNED },
	  BIT(HOST_MEMORY),
	  COPY_WAIT },
};

TEST(questions)
{
	for (size_t i = 0; i < HP_LEN(conversations); i++) {
		struct copy_facts facts =
			upload_of(conversations[i].bytes, conversations[i].asynchronous);

		if (!CHECK_EQ(questions_of(&facts, &conversations[i].truth),
			      conversations[i].asked) ||
		    !CHECK_EQ(route_of(&facts), conversations[i].route))
			printf("# %s\n", conversations[i].what);
	}
}

TEST(a_capture_ends_the_questions)
{
	struct copy_facts facts = upload_of(1 M, true), truth = { .captured = true };

	facts.captures = true;
	CHECK_EQ(questions_of(&facts, &truth), BIT(CAPTURE));
	CHECK_EQ(route_of(&facts), COPY_UNPIN);
	/* Nothing is deferred or staged during a capture. */
	facts = upload_of(1 M, true);
	facts.captures = true;
	truth = (struct copy_facts){ .host_memory = COPY_PAGEABLE, .stageable = true };
	CHECK_EQ(questions_of(&facts, &truth), BIT(CAPTURE) | BIT(HOST_MEMORY));
	facts = upload_of(4096, false);
	facts.captures = true;
	CHECK_EQ(questions_of(&facts, &truth), BIT(HOST_MEMORY));
}

/*
 * An asynchronous upload of pinned memory behind work: the program may change the source on return.
 */
TEST(pinned_sources_behind_work_are_bounced)
{
	struct copy_facts facts = { ANSWERED,
				    .has_device = true,
				    .may_defer = true,
				    .host_memory = COPY_PINNED,
				    .to_device = true,
				    .linear = true,
				    .asynchronous = true,
				    .stream_busy = true,
				    .stageable = true,
				    .workers = 8,
				    .bytes = 512 K };

	CHECK_EQ(route_of(&facts), COPY_BOUNCE);
	facts.bytes = COPY_BLOCKS_FROM - 1;
	CHECK_EQ(route_of(&facts), COPY_BOUNCE);
	facts.linear = false;
	CHECK_EQ(route_of(&facts), COPY_BOUNCE);
	facts.linear = true;
	facts.stream_busy = false;
	CHECK(route_of(&facts) != COPY_BOUNCE);
	facts.stream_busy = true;
	facts.bytes = COPY_BLOCKS_FROM;
	CHECK(route_of(&facts) != COPY_BOUNCE);
}

/* A copy that stays staged because nothing counts it would never be pinned. */
TEST(copies_that_pinning_makes_faster_are_counted)
{
	for (size_t bytes = 64; bytes <= 1024 M; bytes *= 2)
		for (int kind = 0; kind < 8; kind++) {
			bool to_device = kind & 1, asynchronous = kind & 2;
			struct copy_facts facts = upload_of(bytes, asynchronous);
			struct copy_facts truth = { .host_memory = COPY_PAGEABLE,
						    .stageable = true,
						    .stream_busy = kind & 4 };

			facts.to_device = to_device;
			facts.to_host = !to_device;
			if (!CHECK((questions_of(&facts, &truth) & BIT(HOST_MEMORY)) != 0 ||
				   !copy_gains_from_pinning(to_device, asynchronous, bytes)))
				printf("# kind %d, %zu bytes\n", kind, bytes);
		}
}

/* A ring pays off for one copy of 64 MiB, or for several smaller ones. */
TEST(what_a_ring_is_worth)
{
	struct copy_facts facts = { ANSWERED,          .has_device = true, .may_defer = true,
				    .to_device = true, .workers = 8,       .bytes = 64 M };

	CHECK(copy_stage_gain_ns(&facts) >= COPY_STAGING_COST_NS);
	facts.bytes = 16 M;
	CHECK(copy_stage_gain_ns(&facts) < COPY_STAGING_COST_NS);
	CHECK(copy_stage_gain_ns(&facts) > COPY_STAGING_COST_NS / 5);
	facts.forced = COPY_PASS;
	CHECK_EQ(copy_stage_gain_ns(&facts), 0);
	facts.forced = COPY_STAGE;
	facts.bytes = 1;
	CHECK(copy_stage_gain_ns(&facts) >= COPY_STAGING_COST_NS);
}
#undef K
#undef M

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
