/*
 * test_plan.c - the copy planner: one row for every boundary.
 *
 * find() of this file takes the place of that of engine/copy.c.
 */
#include "base/parse.h"
#include "engine/copy_state.h"
#include "engine/plan.h"

#include "check.h"

enum memory { ELSEWHERE, PAGEABLE, PINNED, TAKEN, MEMORIES };
enum { D2H, H2D };
enum { BOX, LINEAR };
enum { SYNC, ASYNC };

#define BIT(fact) (1u << COPY_##fact)

struct scene {
	enum memory memory;
	int to_device, shape, asynchronous;
	size_t bytes, extent;
	bool own_stream, captures, downloads_follow;
	enum copy_route forced;
	uint32_t truth; /* BIT() of the facts that are true */
	unsigned workers;
};

static const struct scene *scene; /* that of route_of() */
static uint32_t asked;            /* BIT() of the facts that its planner has asked for */

static unsigned find(struct copy *copy, enum copy_fact fact)
{
	(void)copy;
	/* No fact is asked for twice. */
	CHECK((asked >> fact & 1) == 0);
	asked |= 1u << fact;
	if (fact == COPY_WORKERS)
		return scene->workers;
	if (fact == COPY_HOST_MEMORY)
		return scene->memory == PINNED  ? PIN_PINNED
		       : scene->memory == TAKEN ? PIN_TAKEN
						: PIN_PAGEABLE;
	return scene->truth >> fact & 1;
}

static struct copy copy_of(const struct copy_request *request)
{
	static struct block block;

	asked = 0;
	return (struct copy){
		.request = request,
		.block = scene->memory != ELSEWHERE ? &block : NULL,
		.facts = { .find = find,
			   .captures = scene->captures,
			   .may_defer = true,
			   .downloads_follow = scene->downloads_follow,
			   .forced = scene->forced },
	};
}

static struct copy_request request_of_scene(void)
{
	return (struct copy_request){
		.direction = scene->to_device == H2D ? TRACE_H2D : TRACE_D2H,
		.asynchronous = scene->asynchronous == ASYNC,
		.per_thread = scene->own_stream,
		.rows = scene->shape == BOX,
		.bytes = scene->bytes,
		.extent = scene->extent,
		.far = 4096,
	};
}

static enum copy_route route_of(const struct scene *given)
{
	scene = given;
	struct copy_request request = request_of_scene();
	struct copy copy = copy_of(&request);
	enum copy_route route = copy_plan(&copy);

	/* The fallback needs no memory of hotpin's. */
	if (route == COPY_BOUNCE || route == COPY_STAGE || route == COPY_DEFER)
		CHECK_EQ(copy_plan_fallback(&copy), given->memory == PINNED  ? COPY_DIRECT
						    : given->memory == TAKEN ? COPY_BOUNCE
									     : COPY_PASS);
	else
		CHECK(route == COPY_PASS || route == COPY_DIRECT || route == COPY_UNPIN);
	return route;
}

static uint64_t gain_of(const struct scene *given)
{
	scene = given;
	struct copy_request request = request_of_scene();
	struct copy copy = copy_of(&request);

	return copy_stage_gain_ns(&copy);
}

enum { FREE, BEHIND };

static const struct {
	enum memory memory;
	int to_device, shape, asynchronous, behind_work;
	size_t bytes;
	enum copy_route route;
} table[] = {
	/* Other memory, or memory that is not pinned, is passed through in every case. */
	{ ELSEWHERE, H2D, LINEAR, SYNC, FREE, 1 << 20, COPY_PASS },
	{ ELSEWHERE, D2H, BOX, ASYNC, BEHIND, 1 << 20, COPY_PASS },
	{ PAGEABLE, H2D, LINEAR, SYNC, FREE, 1 << 20, COPY_PASS },
	{ PAGEABLE, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_PASS },
	{ PAGEABLE, H2D, LINEAR, ASYNC, BEHIND, 64, COPY_PASS },
	/* Nothing to move. */
	{ PINNED, H2D, LINEAR, ASYNC, FREE, 0, COPY_PASS },
	/* Pinned and synchronous: the driver's call itself waits; tiny uploads are staged. */
	{ PINNED, H2D, LINEAR, SYNC, FREE, 1, COPY_BOUNCE },
	{ PINNED, H2D, LINEAR, SYNC, FREE, COPY_STAGED_MOST, COPY_BOUNCE },
	{ PINNED, H2D, LINEAR, SYNC, FREE, COPY_STAGED_MOST + 1, COPY_DIRECT },
	{ PINNED, H2D, BOX, SYNC, FREE, 64, COPY_DIRECT },
	{ PINNED, D2H, LINEAR, SYNC, FREE, 1, COPY_DIRECT },
	{ PINNED, D2H, LINEAR, SYNC, FREE, 1 << 30, COPY_DIRECT },
	{ PINNED, D2H, BOX, SYNC, FREE, 4096, COPY_DIRECT },
	/* Pinned and asynchronous: the guarantees of pageable memory hold. */
	{ PINNED, H2D, LINEAR, ASYNC, FREE, 1, COPY_BOUNCE },
	{ PINNED, H2D, LINEAR, ASYNC, FREE, COPY_BOUNCE_MOST, COPY_BOUNCE },
	{ PINNED, H2D, LINEAR, ASYNC, FREE, COPY_BOUNCE_MOST + 1, COPY_DIRECT },
	{ PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BOUNCE_MOST + 1, COPY_BOUNCE },
	{ PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM - 1, COPY_BOUNCE },
	{ PINNED, H2D, LINEAR, ASYNC, BEHIND, COPY_BLOCKS_FROM, COPY_DIRECT },
	{ PINNED, H2D, BOX, ASYNC, FREE, 4096, COPY_DIRECT },
	{ PINNED, H2D, BOX, ASYNC, BEHIND, 4096, COPY_BOUNCE },
	{ PINNED, H2D, BOX, ASYNC, BEHIND, COPY_BLOCKS_FROM - 1, COPY_BOUNCE },
	{ PINNED, H2D, BOX, ASYNC, BEHIND, COPY_BLOCKS_FROM, COPY_DIRECT },
	{ PINNED, D2H, LINEAR, ASYNC, FREE, 1, COPY_DIRECT },
	{ PINNED, D2H, LINEAR, ASYNC, BEHIND, 1, COPY_DIRECT },
	{ PINNED, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_DIRECT },
	/* Of a block that another thread has taken the driver gets no address. */
	{ TAKEN, H2D, LINEAR, SYNC, FREE, 1, COPY_BOUNCE },
	{ TAKEN, H2D, LINEAR, ASYNC, BEHIND, 1 << 20, COPY_BOUNCE },
	{ TAKEN, H2D, LINEAR, SYNC, FREE, 1 << 30, COPY_BOUNCE },
	{ TAKEN, D2H, LINEAR, SYNC, FREE, 1, COPY_BOUNCE },
	{ TAKEN, D2H, LINEAR, ASYNC, FREE, 1 << 30, COPY_BOUNCE },
};

TEST(every_border)
{
	for (size_t i = 0; i < HP_LEN(table); i++) {
		struct scene row = {
			.memory = table[i].memory,
			.to_device = table[i].to_device,
			.shape = table[i].shape,
			.asynchronous = table[i].asynchronous,
			.truth = table[i].behind_work == BEHIND ? BIT(IS_BUSY) : 0,
			.bytes = table[i].bytes,
		};

		if (!CHECK_EQ(route_of(&row), table[i].route))
			printf("# row %zu\n", i);
	}
}

/* A bounce buffer contains the source with its gaps. */
TEST(no_bounce_for_long_gaps)
{
	struct scene row = { .memory = PINNED,
			     .to_device = H2D,
			     .asynchronous = ASYNC,
			     .truth = BIT(IS_BUSY),
			     .bytes = 4096,
			     .extent = COPY_BLOCKS_FROM };

	CHECK_EQ(route_of(&row), COPY_BOUNCE);
	row.extent++;
	CHECK_EQ(route_of(&row), COPY_DIRECT);
	row.forced = COPY_BOUNCE;
	CHECK_EQ(route_of(&row), COPY_DIRECT);
}

/* Sizes in short. */
#define K *(size_t)1024
#define M *(size_t)1048576
enum { NO_RING, RING };

/* Staging: memory, direction, kind of call, ring, workers, bytes. */
static const struct {
	enum memory memory;
	int to_device, asynchronous, ring;
	unsigned workers;
	size_t bytes;
	enum copy_route route;
} staging[] = {
	/* Staged from and to any memory that we did not pin; but not without a ring. */
	{ ELSEWHERE, H2D, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ ELSEWHERE, D2H, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ PAGEABLE, H2D, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ PAGEABLE, D2H, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ ELSEWHERE, H2D, SYNC, NO_RING, 4, 64 M, COPY_PASS },
	{ PAGEABLE, D2H, SYNC, NO_RING, 4, 64 M, COPY_PASS },
	{ TAKEN, D2H, SYNC, RING, 4, 64 M, COPY_STAGE },
	{ TAKEN, H2D, ASYNC, RING, 4, 64 M, COPY_STAGE },
	{ TAKEN, H2D, SYNC, NO_RING, 4, 64 M, COPY_BOUNCE },
	/* Pinned memory needs no ring. */
	{ PINNED, H2D, SYNC, RING, 4, 64 M, COPY_DIRECT },
	{ PINNED, D2H, ASYNC, RING, 4, 64 M, COPY_DIRECT },
	/* Uploads, except those for which the driver is as fast. */
	{ ELSEWHERE, H2D, SYNC, RING, 4, 0, COPY_PASS },
	{ ELSEWHERE, H2D, SYNC, RING, 4, COPY_STAGE_H2D_LEAST - 1, COPY_PASS },
	{ ELSEWHERE, H2D, SYNC, RING, 4, COPY_STAGE_H2D_LEAST, COPY_STAGE },
	{ ELSEWHERE, H2D, SYNC, RING, 4, 64 K, COPY_PASS },
	{ ELSEWHERE, H2D, SYNC, RING, 4, 16 M - 1, COPY_PASS },
	{ ELSEWHERE, H2D, SYNC, RING, 4, 16 M, COPY_STAGE },
	{ ELSEWHERE, H2D, SYNC, RING, 2, 16 M, COPY_STAGE },
	{ ELSEWHERE, H2D, SYNC, RING, 2, 1024 M, COPY_STAGE },
	/* Downloads. */
	{ ELSEWHERE, D2H, SYNC, RING, 4, COPY_STAGE_D2H_LEAST - 1, COPY_PASS },
	{ ELSEWHERE, D2H, SYNC, RING, 4, COPY_STAGE_D2H_LEAST, COPY_STAGE },
	{ PAGEABLE, D2H, SYNC, RING, 4, 32 K, COPY_STAGE },
	{ PAGEABLE, D2H, SYNC, NO_RING, 4, 32 K, COPY_PASS },
	{ ELSEWHERE, D2H, SYNC, RING, 4, 128 K, COPY_STAGE },
	{ ELSEWHERE, D2H, SYNC, RING, 2, 1024 M, COPY_STAGE },
	/* With one worker or none, only if the bus is not the limit. */
	{ ELSEWHERE, H2D, SYNC, RING, 1, COPY_STAGE_H2D_LEAST, COPY_PASS },
	{ ELSEWHERE, H2D, SYNC, RING, 0, 1 M, COPY_PASS },
	{ ELSEWHERE, H2D, SYNC, RING, 1, 64 M, COPY_PASS },
	{ ELSEWHERE, D2H, SYNC, RING, 1, COPY_STAGE_D2H_LEAST - 1, COPY_PASS },
	{ ELSEWHERE, D2H, SYNC, RING, 0, COPY_STAGE_D2H_LEAST, COPY_STAGE },
	{ ELSEWHERE, D2H, SYNC, RING, 0, 128 K, COPY_STAGE },
	{ ELSEWHERE, D2H, SYNC, RING, 1, 4 M - 1, COPY_STAGE },
	{ ELSEWHERE, D2H, SYNC, RING, 0, 4 M, COPY_PASS },
	{ ELSEWHERE, D2H, SYNC, RING, 1, 1024 M, COPY_PASS },
	/* Asynchronous: the driver copies smaller ones as fast. */
	{ ELSEWHERE, H2D, ASYNC, RING, 4, 8 M - 1, COPY_PASS },
	{ ELSEWHERE, H2D, ASYNC, RING, 4, 8 M, COPY_STAGE },
	{ ELSEWHERE, H2D, ASYNC, RING, 1, 8 M, COPY_PASS },
	{ ELSEWHERE, H2D, ASYNC, NO_RING, 4, 8 M, COPY_PASS },
	{ PAGEABLE, H2D, ASYNC, RING, 2, 8 M, COPY_STAGE },
	{ PINNED, H2D, ASYNC, RING, 4, 8 M, COPY_DIRECT },
	{ ELSEWHERE, D2H, ASYNC, RING, 4, COPY_STAGE_D2H_LEAST - 1, COPY_PASS },
	{ ELSEWHERE, D2H, ASYNC, RING, 4, COPY_STAGE_D2H_LEAST, COPY_STAGE },
	{ ELSEWHERE, D2H, ASYNC, RING, 4, 128 K, COPY_STAGE },
};

TEST(staging_borders)
{
	for (size_t i = 0; i < HP_LEN(staging); i++) {
		struct scene row = {
			.memory = staging[i].memory,
			.to_device = staging[i].to_device,
			.shape = LINEAR,
			.asynchronous = staging[i].asynchronous,
			.truth = staging[i].ring == RING ? BIT(IS_STAGEABLE) : 0,
			.workers = staging[i].workers,
			.bytes = staging[i].bytes,
		};

		if (!CHECK_EQ(route_of(&row), staging[i].route))
			printf("# row %zu\n", i);
		/* With a ring, the gain determines the route. */
		if (staging[i].ring == RING)
			CHECK_EQ(gain_of(&row) != 0, staging[i].route == COPY_STAGE);
	}
}

/* A forced route is taken if every guarantee can be kept; otherwise the plan is unchanged. */
TEST(forced)
{
	static const struct {
		enum copy_route forced;
		enum memory memory;
		int to_device, asynchronous, ring;
		size_t bytes;
		enum copy_route route;
	} rows[] = {
		{ COPY_PASS, ELSEWHERE, H2D, SYNC, RING, 64 M, COPY_PASS },
		{ COPY_PASS, PAGEABLE, D2H, ASYNC, RING, 64 M, COPY_PASS },
		{ COPY_PASS, PINNED, H2D, SYNC, RING, 64, COPY_PASS },
		{ COPY_PASS, PINNED, H2D, ASYNC, RING, 64, COPY_BOUNCE },
		{ COPY_PASS, TAKEN, H2D, SYNC, RING, 64 M, COPY_BOUNCE },
		{ COPY_PASS, TAKEN, D2H, ASYNC, RING, 64, COPY_BOUNCE },
		{ COPY_DIRECT, TAKEN, D2H, SYNC, NO_RING, 64, COPY_BOUNCE },
		{ COPY_DIRECT, PINNED, H2D, SYNC, RING, 64, COPY_DIRECT },
		{ COPY_DIRECT, PINNED, H2D, ASYNC, RING, 256 K, COPY_DIRECT },
		{ COPY_DIRECT, PAGEABLE, H2D, SYNC, RING, 256 K, COPY_PASS },
		{ COPY_DIRECT, PINNED, H2D, ASYNC, RING, 64, COPY_DIRECT },
		{ COPY_BOUNCE, PINNED, H2D, SYNC, RING, 1 M, COPY_BOUNCE },
		{ COPY_BOUNCE, PINNED, H2D, ASYNC, RING, COPY_BLOCKS_FROM, COPY_BOUNCE },
		{ COPY_BOUNCE, PINNED, H2D, SYNC, RING, COPY_BLOCKS_FROM + 1, COPY_DIRECT },
		{ COPY_BOUNCE, PINNED, D2H, SYNC, RING, 64, COPY_DIRECT },
		{ COPY_STAGE, ELSEWHERE, H2D, SYNC, RING, 1, COPY_STAGE },
		{ COPY_STAGE, ELSEWHERE, H2D, ASYNC, RING, 4 M, COPY_STAGE },
		{ COPY_STAGE, ELSEWHERE, H2D, ASYNC, RING, 4 M - 1, COPY_PASS },
		{ COPY_STAGE, PINNED, D2H, ASYNC, RING, 64 M, COPY_DIRECT },
		{ COPY_STAGE, ELSEWHERE, H2D, SYNC, NO_RING, 64 M, COPY_PASS },
		{ COPY_STAGE, ELSEWHERE, H2D, SYNC, RING, 0, COPY_PASS },
		{ COPY_DEFER, ELSEWHERE, H2D, SYNC, RING, 128 K, COPY_DEFER },
		{ COPY_DEFER, ELSEWHERE, H2D, SYNC, RING, 128 K + 1, COPY_PASS },
		{ COPY_DEFER, PINNED, H2D, SYNC, RING, 64 K, COPY_DEFER },
		{ COPY_DEFER, PINNED, H2D, SYNC, RING, 64 K + 1, COPY_DIRECT },
	};
	unsigned heard = 0;

	for (size_t i = 0; i < HP_LEN(rows); i++) {
		struct scene row = {
			.memory = rows[i].memory,
			.to_device = rows[i].to_device,
			.shape = LINEAR,
			.asynchronous = rows[i].asynchronous,
			.truth = (rows[i].ring == RING ? BIT(IS_STAGEABLE) : 0) |
				 (rows[i].forced == COPY_DEFER ? BIT(IS_DEFERRABLE) : 0),
			.workers = 8,
			.bytes = rows[i].bytes,
			.forced = rows[i].forced,
		};

		if (!CHECK_EQ(route_of(&row), rows[i].route))
			printf("# row %zu\n", i);
		heard |= rows[i].route == rows[i].forced ? 1u << rows[i].forced : 0;
	}
	/* Unpinning cannot be forced: the call would be the same. */
	CHECK_EQ(heard, (1u << COPY_UNPIN) - 1 - (1u << COPY_AUTO));
}

/* Small uploads return early from any memory, as far as the driver copies them immediately. */
TEST(small_uploads_return_early)
{
	static const struct {
		size_t bytes;
		int shape;
		uint32_t truth;
		bool pinned, others; /* deferred from pinned memory, from other memory */
	} rows[] = {
		{ 0, LINEAR, BIT(IS_DEFERRABLE), false, false },
		{ 64, LINEAR, BIT(IS_DEFERRABLE), true, true },
		{ 64, BOX, BIT(IS_DEFERRABLE), false, false },
		{ 64, LINEAR, 0, false, false },
		{ COPY_DEFER_PINNED_MOST, LINEAR, BIT(IS_DEFERRABLE), true, true },
		{ COPY_DEFER_PINNED_MOST + 1, LINEAR, BIT(IS_DEFERRABLE), false, true },
		{ COPY_DEFER_MOST, LINEAR, BIT(IS_DEFERRABLE), false, true },
		/* A bounce is worthwhile for an upload that would wait otherwise. */
		{ COPY_DEFER_MOST, LINEAR, BIT(IS_DEFERRABLE) | BIT(IS_BUSY), true, true },
		{ COPY_DEFER_MOST + 1, LINEAR, BIT(IS_DEFERRABLE) | BIT(IS_BUSY), false, false },
	};

	for (size_t i = 0; i < HP_LEN(rows) * MEMORIES; i++) {
		enum memory memory = (enum memory)(i % MEMORIES);
		size_t at = i / MEMORIES;
		struct scene row = { .memory = memory,
				     .to_device = H2D,
				     .shape = rows[at].shape,
				     .truth = rows[at].truth | BIT(IS_STAGEABLE),
				     .workers = 8,
				     .bytes = rows[at].bytes };

		if (!CHECK_EQ(route_of(&row) == COPY_DEFER,
			      memory == PINNED ? rows[at].pinned : rows[at].others))
			printf("# row %zu, memory %d\n", at, memory);
	}
}

static struct scene upload_of(size_t bytes, int asynchronous, enum memory memory, uint32_t truth)
{
	return (struct scene){ .memory = memory,
			       .to_device = H2D,
			       .shape = LINEAR,
			       .asynchronous = asynchronous,
			       .bytes = bytes,
			       .extent = bytes,
			       .truth = truth,
			       .workers = 8 };
}

/*
 * Before a small synchronous upload is bounced: the device may read the source of an idle stream.
 */
TEST(asked_before_a_bounce)
{
	static const struct {
		size_t bytes;
		uint32_t wanted, followed;
	} rows[] = {
		{ 1, 0, 0 },
		{ COPY_STAGED_MOST, 0, 0 },
		{ COPY_STAGED_MOST + 1, 0, BIT(IS_BUSY) },
		{ 64 K, 0, BIT(IS_BUSY) },
		{ 64 K + 1, BIT(IS_BUSY), BIT(IS_BUSY) },
		{ 128 K, BIT(IS_BUSY), BIT(IS_BUSY) },
	};
	const uint32_t about_streams = BIT(IS_BUSY) | BIT(IS_BEHIND_LEGACY);

	for (int memory = ELSEWHERE; memory < MEMORIES; memory++)
		for (size_t i = 0; i < HP_LEN(rows) * 2; i++) {
			struct scene row = upload_of(rows[i / 2].bytes, SYNC, (enum memory)memory,
						     BIT(IS_DEFERRABLE));

			row.downloads_follow = i % 2 != 0;
			route_of(&row);
			CHECK_EQ(asked & about_streams, memory != PINNED ? 0
							: i % 2 != 0     ? rows[i / 2].followed
									 : rows[i / 2].wanted);
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
		uint32_t wanted;
		enum copy_route idle, behind_legacy;
	} rows[] = {
		{ COPY_STAGED_MOST, 0, COPY_BOUNCE, COPY_BOUNCE },
		{ COPY_STAGED_MOST + 1, BIT(IS_BUSY) | BIT(IS_BEHIND_LEGACY), COPY_DIRECT,
		  COPY_BOUNCE },
		{ 64 K, BIT(IS_BUSY) | BIT(IS_BEHIND_LEGACY), COPY_DIRECT, COPY_BOUNCE },
		{ 64 K + 1, 0, COPY_DIRECT, COPY_DIRECT },
	};

	for (size_t i = 0; i < HP_LEN(rows) * 2; i++) {
		struct scene row = upload_of(rows[i / 2].bytes, SYNC, PINNED,
					     i % 2 != 0 ? BIT(IS_BEHIND_LEGACY) : 0);

		row.own_stream = true;
		CHECK_EQ(route_of(&row), i % 2 != 0 ? rows[i / 2].behind_legacy : rows[i / 2].idle);
		CHECK_EQ(asked, BIT(HOST_MEMORY) | rows[i / 2].wanted);
	}
}

/* The facts that each kind of copy needs, and its route. */
static const struct {
	const char *what;
	size_t bytes;
	int asynchronous;
	enum memory memory;
	uint32_t truth, wanted;
	enum copy_route route;
} needs[] = {
	{ "empty", 0, SYNC, PINNED, 0, 0, COPY_PASS },
	{ "small, deferred", 4096, SYNC, PAGEABLE, BIT(IS_DEFERRABLE),
	  BIT(IS_DEFERRABLE) | BIT(HOST_MEMORY), COPY_DEFER },
	{ "small, with host-visible work", 4096, SYNC, PAGEABLE, 0,
	  BIT(IS_DEFERRABLE) | BIT(HOST_MEMORY), COPY_PASS },
	{ "pinned", 1 M, SYNC, PINNED, BIT(IS_BUSY) | BIT(IS_DEFERRABLE), BIT(HOST_MEMORY),
	  COPY_DIRECT },
	{ "pageable, large", 64 M, SYNC, PAGEABLE, BIT(IS_STAGEABLE),
	  BIT(HOST_MEMORY) | BIT(WORKERS) | BIT(IS_STAGEABLE), COPY_STAGE },
	{ "asynchronous, small", 4096, ASYNC, PINNED, 0, BIT(HOST_MEMORY) | BIT(READS_LATE),
	  COPY_BOUNCE },
	{ "asynchronous, small, to host memory", 4096, ASYNC, PINNED, BIT(READS_LATE),
	  BIT(HOST_MEMORY) | BIT(READS_LATE), COPY_DIRECT },
	{ "asynchronous, idle", 1 M, ASYNC, PINNED, 0,
	  BIT(HOST_MEMORY) | BIT(IS_BUSY) | BIT(IS_BEHIND_LEGACY), COPY_DIRECT },
	{ "asynchronous, busy", 256 K, ASYNC, PINNED, BIT(IS_BUSY),
	  BIT(HOST_MEMORY) | BIT(IS_BUSY) | BIT(READS_LATE), COPY_BOUNCE },
	{ "asynchronous, behind the legacy stream", 256 K, ASYNC, PINNED, BIT(IS_BEHIND_LEGACY),
	  BIT(HOST_MEMORY) | BIT(IS_BUSY) | BIT(IS_BEHIND_LEGACY) | BIT(READS_LATE), COPY_BOUNCE },
	{ "asynchronous, too large for the driver to stage", 4 M, ASYNC, PINNED, 0,
	  BIT(HOST_MEMORY), COPY_DIRECT },
};

TEST(facts_are_asked_for_when_needed)
{
	for (size_t i = 0; i < HP_LEN(needs); i++) {
		struct scene row = upload_of(needs[i].bytes, needs[i].asynchronous, needs[i].memory,
					     needs[i].truth);

		if (!CHECK_EQ(route_of(&row), needs[i].route) || !CHECK_EQ(asked, needs[i].wanted))
			printf("# %s\n", needs[i].what);
	}
}

TEST(captures)
{
	struct scene row = upload_of(1 M, ASYNC, PINNED, BIT(IS_CAPTURED));

	row.captures = true;
	CHECK_EQ(route_of(&row), COPY_UNPIN);
	CHECK_EQ(asked, BIT(IS_CAPTURED));
	/* Nothing is deferred or staged during a capture. */
	row = upload_of(64 M, ASYNC, PAGEABLE, BIT(IS_STAGEABLE));
	row.captures = true;
	CHECK_EQ(route_of(&row), COPY_PASS);
	CHECK_EQ(asked, BIT(IS_CAPTURED) | BIT(HOST_MEMORY));
	row = upload_of(4096, SYNC, PAGEABLE, BIT(IS_DEFERRABLE));
	row.captures = true;
	CHECK_EQ(route_of(&row), COPY_PASS);
	CHECK_EQ(asked, BIT(HOST_MEMORY));
}

/* A copy that stays staged because nothing counts it would never be pinned. */
TEST(copies_that_pinning_makes_faster_are_counted)
{
	for (size_t bytes = 64; bytes <= 1024 M; bytes *= 2)
		for (int kind = 0; kind < 8; kind++) {
			struct scene row =
				upload_of(bytes, kind & 2 ? ASYNC : SYNC, PAGEABLE,
					  BIT(IS_STAGEABLE) | (kind & 4 ? BIT(IS_BUSY) : 0));

			row.to_device = kind & 1;
			route_of(&row);
			if (!CHECK((asked & BIT(HOST_MEMORY)) != 0 ||
				   !copy_gains_from_pinning(kind & 1, kind & 2, bytes)))
				printf("# kind %d, %zu bytes\n", kind, bytes);
		}
}

/* A ring pays off for one copy of 64 MiB, or for several smaller ones. */
TEST(what_a_ring_is_worth)
{
	struct scene row = upload_of(64 M, SYNC, ELSEWHERE, 0);

	CHECK(gain_of(&row) >= COPY_STAGING_COST_NS);
	row.bytes = 16 M;
	CHECK(gain_of(&row) < COPY_STAGING_COST_NS);
	CHECK(gain_of(&row) > COPY_STAGING_COST_NS / 5);
	row.forced = COPY_PASS;
	CHECK_EQ(gain_of(&row), 0);
	row.forced = COPY_STAGE;
	row.bytes = 1;
	CHECK(gain_of(&row) >= COPY_STAGING_COST_NS);
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
