/*
 * test_pin_pipeline.c - a copy that makes pinning worthwhile registers the block segment by
 * segment.
 */
#include "base/counters.h"
#include "heap/pin_state.h"
#include "pin/eviction.h"
#include "pin/pin.h"
#include "pin/registration.h"

#include "check.h"
#include "fake.h"
#include "pinning.h"

#include <pthread.h>

#define PIECE (8 * MIB)

static size_t pinned_now(void)
{
	size_t now, most;

	pin_stats(&now, &most);
	return now;
}

/* Makes a copy of all of `memory` in segments; returns what was registered. */
static struct pin_pipeline register_pieces(const char *memory, size_t bytes)
{
	struct pin_pipeline pieces = { 0 };

	hp_users_enter(&pin_copies, PIN_COPY_WAITS_NS);
	CHECK(!pin_before_copy(range_find(memory), true, bytes, &pieces));
	CHECK(pieces.block == range_find(memory));
	return pieces;
}

TEST(how_large_pieces_are)
{
	static const struct {
		size_t room, piece;
	} rows[] = {
		{ 64 * KIB, 64 * KIB },
		{ 8 * MIB, 8 * MIB },
		{ 16 * MIB - 64 * KIB, 16 * MIB - 64 * KIB },
		{ 16 * MIB, 8 * MIB },
		{ 64 * MIB, 8 * MIB },
		{ 16 * MIB + 64 * KIB, 10 * MIB },
		{ 24 * MIB, 8 * MIB },
		{ 64 * MIB + 64 * KIB, 10 * MIB },
		{ 256 * MIB, 32 * MIB },
		{ GIB, 128 * MIB },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		CHECK_EQ(registration_segment(rows[i].room), rows[i].piece);
}

TEST(one_after_the_other)
{
	fake_start(GIB);
	char *memory = allocate(64 * MIB);
	struct block *block = range_find(memory);
	struct pin_pipeline pieces = register_pieces(memory, 64 * MIB);

	/* The budget is reserved and paid, but nothing is registered yet. */
	CHECK_EQ(block->pin, BLOCK_PINNING);
	CHECK_EQ(pinned_now(), 64 * MIB);
	CHECK_EQ(fake.registers, 0);
	CHECK(pin_pipeline_reach(&pieces, memory + 1));
	CHECK_EQ(fake.registers, 1);
	CHECK(fake_is_registered(memory, PIECE));
	CHECK(pin_pipeline_reach(&pieces, memory + PIECE - 1));
	CHECK_EQ(fake.registers, 1);
	CHECK(pin_pipeline_reach(&pieces, memory + 3 * PIECE));
	CHECK_EQ(fake.registers, 4);
	CHECK_EQ(fake.last_base, (uintptr_t)memory + 3 * PIECE);
	CHECK_EQ(fake.last_room, PIECE);
	CHECK_EQ(block->pin, BLOCK_PINNING);
	CHECK(pin_pipeline_end(&pieces));
	hp_users_leave(&pin_copies);
	CHECK_EQ(fake.registers, 8);
	CHECK_EQ(block->pin, BLOCK_PINNED);
	CHECK_EQ(hp_count_read(pins), 1);
	for (size_t at = 0; at < 64 * MIB; at += PIECE)
		CHECK(fake_is_registered(memory + at, PIECE));

	/*
	 * The next copy finds the block pinned; the program's own registration finds all of it
	 * unpinned.
	 */
	pieces.block = NULL;
	CHECK(pin_before_copy(block, true, 64 * MIB, &pieces));
	CHECK(pieces.block == NULL);
	CHECK_EQ(fake_program_register(memory + 20 * MIB, MIB), CUDA_SUCCESS);
	CHECK_EQ(fake.unregisters, 8);
	CHECK_EQ(pinned_now(), 0);
	CHECK_EQ(fake_program_unregister(memory + 20 * MIB), CUDA_SUCCESS);
	CHECK(fake_all_well());
}

TEST(runs_end_where_registrations_do)
{
	fake_start(GIB);
	char *memory = allocate(24 * MIB);
	struct block *block = range_find(memory);
	struct pin_pipeline pieces;

	CHECK(!pin_crosses(memory, 24 * MIB));
	pieces = register_pieces(memory, 24 * MIB);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(range_run(block, memory), PIECE);
		CHECK_EQ(range_run(block, memory + 1), PIECE - 1);
		CHECK_EQ(range_run(block, memory + PIECE), PIECE);
		CHECK_EQ(range_run(block, memory + 2 * PIECE + 1), block->room - 2 * PIECE - 1);
		CHECK(!pin_crosses(memory, PIECE));
		CHECK(pin_crosses(memory, PIECE + 1));
		CHECK(pin_crosses(memory + PIECE - 1, 2));
		CHECK(!pin_crosses(memory + 2 * PIECE, block->room - 2 * PIECE));
		CHECK(pin_crosses(memory + 2 * PIECE, block->room - 2 * PIECE + 1));
		CHECK(pin_crosses(memory - 1, 2));
		CHECK(!pin_crosses(memory - 1, 1));
		/* The block is pinned, or being pinned. */
		if (i == 0)
			CHECK(pin_pipeline_end(&pieces));
	}
	hp_users_leave(&pin_copies);

	/* Freed and idle: every registration ends. */
	size_t room = block->room;
	CHECK_EQ(heap_free(memory), 0);
	heap_set_reclaim_target(64 * MIB);
	CHECK_EQ(pin_evict_due(SIZE_MAX), room);
	CHECK_EQ(fake.unregisters, fake.registered);
	CHECK_EQ(fake.bytes, 0);
	CHECK(fake_all_well());
}

TEST(small_ones_are_pinned_at_once)
{
	struct pin_pipeline pieces = { 0 };

	fake_start(GIB);
	char *memory = allocate(16 * MIB - 64 * KIB);

	hp_users_enter(&pin_copies, PIN_COPY_WAITS_NS);
	CHECK(pin_before_copy(range_find(memory), true, 15 * MIB, &pieces));
	hp_users_leave(&pin_copies);
	CHECK(pieces.block == NULL);
	CHECK_EQ(fake.registers, 1);
	CHECK_EQ(range_run(range_find(memory), memory), range_find(memory)->room);
	CHECK(fake_all_well());
}

/*
 * Another copy in flight may use one call for the whole block, which fails if half is registered.
 */
TEST(whole_during_another_copy)
{
	struct pin_pipeline pieces = { 0 };

	fake_start(GIB);
	char *memory = allocate(64 * MIB);

	hp_users_enter(&pin_copies, PIN_COPY_WAITS_NS);
	hp_users_enter(&pin_copies, PIN_COPY_WAITS_NS);
	CHECK(pin_before_copy(range_find(memory), true, 64 * MIB, &pieces));
	hp_users_leave(&pin_copies);
	hp_users_leave(&pin_copies);
	CHECK(pieces.block == NULL);
	CHECK_EQ(fake.registers, 1);
	CHECK_EQ(fake.last_room, range_find(memory)->room);
	CHECK(!pin_crosses(memory, 64 * MIB));
	CHECK(fake_all_well());
}

/* The driver accepts `good` segments, then returns `refusal`. */
static void refuse_after(unsigned good, CUresult refusal, enum block_pin then)
{
	fake_start(GIB);
	char *memory = allocate(64 * MIB);
	struct pin_pipeline pieces = register_pieces(memory, 64 * MIB);

	if (good != 0)
		CHECK(pin_pipeline_reach(&pieces, memory + (good - 1) * PIECE));
	fake.refuse = refusal;
	CHECK(!pin_pipeline_reach(&pieces, memory + good * PIECE));
	long calls = fake.registers;
	CHECK(!pin_pipeline_end(&pieces));
	hp_users_leave(&pin_copies);
	CHECK_EQ(fake.registers, calls);
	CHECK_EQ(fake.unregisters, good);
	CHECK_EQ(fake.bytes, 0);
	CHECK_EQ(pinned_now(), 0);
	CHECK_EQ(pin_of(memory), then);
	CHECK_EQ(hp_count_read(pins_refused), 1);
	CHECK(fake_all_well());
}

TEST(refused_at_the_first)
{
	refuse_after(0, CUDA_ERROR_INVALID_VALUE, BLOCK_REFUSED);
}

TEST(refused_in_the_middle)
{
	refuse_after(3, CUDA_ERROR_INVALID_VALUE, BLOCK_REFUSED);
}

TEST(out_of_memory_at_the_last)
{
	refuse_after(7, CUDA_ERROR_OUT_OF_MEMORY, BLOCK_PAGEABLE);
}

static _Atomic bool copies;

static void *copy_until_it_is_closed(void *arg)
{
	hp_users_enter(&pin_copies, PIN_COPY_WAITS_NS);
	copies = true;
	WAIT_FOR(atomic_load(&pin_copies.closed) != 0);
	copies = false;
	hp_users_leave(&pin_copies);
	return arg;
}

static void nobody_copies(void *base)
{
	(void)base;
	CHECK(!copies);
}

TEST(refused_during_another_copy)
{
	pthread_t other;

	fake_start(GIB);
	char *memory = allocate(64 * MIB);
	struct pin_pipeline pieces = register_pieces(memory, 64 * MIB);

	CHECK(pin_pipeline_reach(&pieces, memory));
	CHECK_EQ(pthread_create(&other, NULL, copy_until_it_is_closed, NULL), 0);
	WAIT_FOR(copies);
	fake.inside_end = nobody_copies;
	fake.refuse = CUDA_ERROR_OUT_OF_MEMORY;
	CHECK(!pin_pipeline_end(&pieces));
	CHECK_EQ(fake.unregisters, 1);
	CHECK_EQ(pin_copies.closed, 0);
	hp_users_leave(&pin_copies);
	pthread_join(other, NULL);
	CHECK(fake_all_well());
}

TEST(its_context_takes_all_of_it_along)
{
	fake_start(GIB);
	char *memory = allocate(64 * MIB);
	struct pin_pipeline pieces = register_pieces(memory, 64 * MIB);

	CHECK(pin_pipeline_end(&pieces));
	hp_users_leave(&pin_copies);
	pin_context_ending(1000);
	fake_destroy_context(1000);
	pin_context_ended(1000, true);
	CHECK_EQ(pin_of(memory), BLOCK_PAGEABLE);
	CHECK_EQ(pinned_now(), 0);
	CHECK_EQ(fake.unregisters, 0);
	CHECK(fake_all_well());
}

CHECK_MAIN()
