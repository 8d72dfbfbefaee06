/*
 * test_pin.c - the driver calls of pin.c and pinning.c, and their arguments: heat, budget,
 * refusals, reuse.
 */
#include "heap/reclaim.h"
#include "pin/user_registration.h"
#include "pin/pin.h"
#include "pin/unpin.h"
#include "base/counters.h"
#include "base/clock.h"
#include "heap/heap.h"
#include "heap/map.h"

#include "check.h"
#include "clock.h"
#include "pinning.h"

#include <errno.h>
#include <pthread.h>

/* Copies until the block is pinned; returns the number of copies before. */
static int copies_until_pinned(const void *memory, size_t bytes)
{
	int before = 0;

	while (before < 1000 && !copy(memory, bytes))
		before++;
	return before;
}

PIN_TEST(pins_the_whole_block_once_it_is_worth_it)
{
	/* A block that begins somewhere inside its room. */
	prove();
	char *large = heap_alloc(64 * MIB + 1, 0, false, PROVEN);
	for (int i = 0; i < 16 && (uintptr_t)large == range_find(large)->base; i++)
		large = heap_alloc(64 * MIB + 1, 0, false, PROVEN);
	char *small = allocate(256 * KIB);
	struct block *block = range_find(large);

	/* The first copy of all never pins. */
	CHECK(!copy(large, 64 * MIB + 1));
	CHECK_EQ(pinning.registers, 0);
	CHECK(!pin_covers_any(large, 64 * MIB));
	CHECK(copy(large, 64 * MIB + 1));
	CHECK(block->base != (uintptr_t)large);
	CHECK(is_registered((char *)block->base, block->room));
	CHECK_EQ(standin_registered_bytes(), block->room);
	CHECK_EQ(pin_of(large), BLOCK_PINNED);
	CHECK_EQ(range_find(large)->pin_owner, (uintptr_t)context);
	CHECK_EQ(pin_bytes(), block->room);

	/* 1.4 times the room, and 1 MiB. */
	CHECK_EQ(copies_until_pinned(small, 256 * KIB), 5);
	CHECK_EQ(pinning.registers, 2);
	for (int i = 0; i < 100; i++)
		CHECK(copy(large, MIB) && copy(small, KIB));
	CHECK_EQ(pin_before_copy(range_find(small), false, KIB, NULL), PIN_PINNED);
	pin_leave(NULL);
	CHECK_EQ(pinning.registers, 2);
	CHECK_EQ(hp_count_read(pins), 2);
}

PIN_TEST(covers_by_the_byte)
{
	char *a = allocate(MIB), *b = allocate(MIB);

	CHECK(a + MIB == b);
	CHECK(copies_until_pinned(b, MIB) < 10);
	CHECK(!pin_covers_any(a, MIB));
	CHECK(pin_covers_any(a, MIB + 1));
	CHECK(pin_covers_any(b, 1));
	CHECK(pin_covers_any(b + MIB - 1, 1));
	CHECK(!pin_covers_any(b + MIB, 1));
	CHECK(!pin_covers_any(b, 0));
	CHECK(pin_covers_any(b + 5, SIZE_MAX));
	CHECK(!pin_covers_any(&a, SIZE_MAX - (uintptr_t)&a));
}

PIN_TEST(nothing_without_a_context)
{
	char *memory = allocate(64 * MIB);

	OK(cuCtxSetCurrent(NULL));
	for (int i = 0; i < 5; i++)
		CHECK(!copy(memory, 64 * MIB));
	CHECK_EQ(pinning.registers, 0);
	CHECK_EQ(pin_of(memory), BLOCK_PAGEABLE);
	OK(cuCtxSetCurrent(context));
	CHECK(copy(memory, 64 * MIB));
}

PIN_TEST(keeps_errno)
{
	char *memory = allocate(64 * MIB);

	errno = 33;
	CHECK(copy(memory, 64 * MIB));
	pin_before_user_registration(memory, 1);
	CHECK_EQ(errno, 33);
	CHECK_EQ(pinning.unregisters, 1);
}

/* Blocks that are allocated, copied once and freed, as tensors are. */
PIN_TEST(large_blocks_that_are_copied_once)
{
	for (int i = 0; i < 4; i++) {
		prove();
		char *memory = heap_alloc(16 * MIB, 64 * KIB, false, PROVEN);

		CHECK_EQ(copy(memory, 16 * MIB), i != 0);
		CHECK_EQ(heap_free(memory), 0);
	}
	CHECK_EQ(pinning.registers, 1);
}

PIN_TEST(heat_outlives_free)
{
	for (int i = 0; i < 6; i++) {
		char *memory = allocate(256 * KIB);

		CHECK_EQ(copy(memory, 256 * KIB), i == 5);
		CHECK_EQ(heap_free(memory), 0);
	}
}

PIN_TEST(pages_stay_as_long_as_the_pin)
{
	char *memory = allocate(100 * MIB);

	memset(memory, 0x6b, 100 * MIB);
	CHECK(copy(memory, 100 * MIB));
	CHECK_EQ(heap_free(memory), 0);
	CHECK(!heap_any_due());
	/* Blocks are too large, too many and too old: the heap may only request their end. */
	for (int i = 0; i < 6; i++) {
		test_clock_pass(500 * TEST_MS);
		CHECK_EQ(heap_free(allocate(MIB)), 0);
		CHECK_EQ(heap_free(allocate(40 * MIB)), 0);
	}
	CHECK(memory[0] == 0x6b && memcmp(memory, memory + 1, 100 * MIB - 1) == 0);
	CHECK(heap_any_due());
	CHECK_EQ(pinning.unregisters, 0);
	CHECK(all_is_well());

	CHECK_EQ(pin_evict_due(1), map_at((uintptr_t)memory)->room);
	CHECK_EQ(pin_bytes(), 0);
	CHECK(!heap_any_due());
	CHECK_EQ(hp_count_read(unpins), 1);
	/* Now the pages were dropped: the block reads as zero. */
	CHECK_EQ(memory[0] + memory[50 * MIB] + memory[100 * MIB - 1], 0);
}

/* The pages that a block grows by would not be registered. */
PIN_TEST(a_pinned_block_does_not_grow_in_place)
{
	char *memory = allocate(17 * MIB), *other = allocate(17 * MIB);

	CHECK(heap_resize(other, 18 * MIB));
	CHECK(heat_up(memory, 17 * MIB) && heat_up(other, 18 * MIB));
	CHECK(!heap_resize(memory, 18 * MIB));
	CHECK(!heap_resize(other, 19 * MIB));
}

PIN_TEST(a_block_in_use_is_never_unpinned_for_idleness)
{
	char *memory = allocate(100 * MIB);

	CHECK(copy(memory, 100 * MIB));
	test_clock_pass(2100 * TEST_MS);
	CHECK(!heap_any_due());
	CHECK_EQ(pin_evict_due(SIZE_MAX), 0);
	CHECK_EQ(pinning.unregisters, 0);
}

PIN_TEST(oldest_first_and_no_more_than_asked)
{
	char *blocks[4];

	for (int i = 0; i < 4; i++) {
		blocks[i] = allocate(16 * MIB);
		CHECK(copy(blocks[i], 16 * MIB));
	}
	for (int i = 0; i < 4; i++) {
		CHECK_EQ(heap_free(blocks[3 - i]), 0);
		test_clock_pass(20 * TEST_MS);
	}
	CHECK_EQ(pin_evict_due(SIZE_MAX), 0);
	test_clock_pass(2100 * TEST_MS);
	CHECK_EQ(pin_evict_due(17 * MIB), 32 * MIB);
	CHECK(!is_registered(blocks[3], 1) && !is_registered(blocks[2], 1));
	CHECK(is_registered(blocks[1], 1) && is_registered(blocks[0], 1));
	CHECK(heap_any_due());
	CHECK_EQ(pin_evict_due(SIZE_MAX), 32 * MIB);
}

TEST(never_above_the_budget)
{
	char *blocks[6];
	int pinned = 0;

	pinning_start(40 * MIB);
	for (int i = 0; i < 6; i++)
		pinned += copy(blocks[i] = allocate(16 * MIB), 16 * MIB);
	CHECK_EQ(pinned, 2);
	CHECK_EQ(hp_count_read(pins_over_budget), 4);
	CHECK_EQ(pinning.registers, 2);
	/* All blocks are in use, so none can be evicted. */
	CHECK(!heap_any_due());
	CHECK_EQ(pin_of(blocks[5]), BLOCK_PAGEABLE);
	CHECK(all_is_well());

	/* A freed block can be evicted first, however young it is. */
	CHECK_EQ(heap_free(blocks[0]), 0);
	CHECK(!heap_any_due());
	CHECK(!copy(blocks[5], 16 * MIB));
	CHECK(heap_any_due());
	CHECK_EQ(pin_evict_due(SIZE_MAX), 16 * MIB);
	CHECK(copy(blocks[5], 16 * MIB));
	CHECK(all_is_well());

	/* A block that would never fit evicts nothing. */
	CHECK_EQ(heap_free(blocks[1]), 0);
	CHECK(!copy(allocate(48 * MIB), 48 * MIB));
	CHECK(!heap_any_due());
	CHECK(all_is_well());
}

PIN_TEST(a_refusal_is_remembered)
{
	char *memory = allocate(64 * MIB);

	pinning.refuse = CUDA_ERROR_INVALID_VALUE;
	for (int i = 0; i < 10; i++)
		CHECK(!copy(memory, 64 * MIB));
	CHECK_EQ(pinning.registers, 1);
	CHECK_EQ(pin_of(memory), BLOCK_ALTERED);
	CHECK_EQ(hp_count_read(pins_refused), 1);
	CHECK_EQ(pin_bytes(), 0);

	/* This applies to this block only, and only as long as it has these pages. */
	pinning.refuse = CUDA_SUCCESS;
	test_clock_pass(10100 * TEST_MS);
	CHECK(!copy(memory, 64 * MIB));
	CHECK(copy(allocate(64 * MIB), 64 * MIB));
	CHECK_EQ(heap_free(memory), 0);
	CHECK(allocate(64 * MIB) == memory && memory[1] == 0);
	CHECK(copy(memory, 64 * MIB));
	CHECK_EQ(pinning.registers, 3);
}

/* Copies new blocks; returns the number of driver calls. */
static long storm(CUresult answer, int blocks)
{
	long before = pinning.registers;

	pinning.refuse = answer;
	for (int i = 0; i < blocks; i++)
		copy(allocate(16 * MIB), 16 * MIB);
	return pinning.registers - before;
}

/* However many blocks the driver refuses, they cost one call in ten seconds. */
TEST(refusals_make_no_storm)
{
	static const struct {
		CUresult answer;
		int blocks;
		long calls; /* driver calls */
		uint64_t then_ms;
	} steps[] = {
		{ CUDA_ERROR_UNKNOWN, 100, 1, 9000 },
		{ CUDA_ERROR_NOT_PERMITTED, 100, 0, 1100 },
		{ CUDA_ERROR_OUT_OF_MEMORY, 100, 1, 10100 },
		{ CUDA_ERROR_INVALID_VALUE, 100, 1, 10100 },
		{ CUDA_SUCCESS, 3, 3, 0 },
		{ CUDA_ERROR_INVALID_VALUE, 100, 1, 10100 },
		{ CUDA_SUCCESS, 3, 3, 0 },
	};

	pinning_start(16 * GIB);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!CHECK_EQ(storm(steps[i].answer, steps[i].blocks), steps[i].calls))
			printf("# step %zu\n", i);
		test_clock_pass(steps[i].then_ms * TEST_MS);
	}
	CHECK(all_is_well());
}

/* The driver may take the same block later. */
PIN_TEST(out_of_memory_says_nothing_of_the_block)
{
	char *first = allocate_pinned(64 * MIB), *large = allocate(64 * MIB);

	pinning.refuse = CUDA_ERROR_OUT_OF_MEMORY;
	for (int i = 0; i < 10; i++)
		CHECK(!copy(large, 64 * MIB));
	CHECK_EQ(pinning.registers, 2);
	CHECK_EQ(pin_of(large), BLOCK_PAGEABLE);
	CHECK(copy(first, 64 * MIB));
	pinning.refuse = CUDA_SUCCESS;
	CHECK(!copy(large, 64 * MIB));
	test_clock_pass(10100 * TEST_MS);
	CHECK(copy(large, 64 * MIB));
}

PIN_TEST(stopped_pins_nothing_and_keeps_what_is_pinned)
{
	char *pinned = allocate(16 * MIB), *other = allocate(16 * MIB);

	CHECK(copy(pinned, 16 * MIB));
	pin_stop("the test says so");
	CHECK(!copy(other, 16 * MIB));
	CHECK(copy(pinned, 16 * MIB));
	CHECK_EQ(pinning.registers, 1);
}

static _Atomic bool has_ended;

static void *end_pinning(void *arg)
{
	pin_stop("the test says so");
	pin_unpin(NULL, SIZE_MAX);
	has_ended = true;
	return arg;
}

/* A thread has taken the block to pin it, and has reserved no room yet. */
PIN_TEST(ended_while_a_thread_begins_to_pin)
{
	struct block *block = range_find(allocate(16 * MIB));
	CHECK(heap_try_pin(block) != 0);
	pthread_t ending = check_thread(end_pinning, NULL);
	WAIT_FOR(has_ended || test_clock_waiting() == 1);
	CHECK(!has_ended);
	heap_release(block, false, NULL);
	pthread_join(ending, NULL);
}

CHECK_MAIN()
