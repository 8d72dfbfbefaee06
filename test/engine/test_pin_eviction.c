/*
 * test_pin_eviction.c - blocks that are unpinned when memory is short, or freed around their pins.
 */
#include "heap/reclaim.h"
#include "pin/unpin.h"
#include "pin/pin.h"

#include "check.h"
#include "clock.h"
#include "machine.h"
#include "pinning.h"

PIN_TEST(relieves_freed_blocks_before_those_in_use)
{
	char *live = allocate_pinned(16 * MIB), *wall = allocate(MIB);
	char *freed = allocate_pinned(16 * MIB);

	CHECK(wall != NULL);
	CHECK_EQ(heap_free(freed), 0);
	CHECK_EQ(pin_evict(16 * MIB), 16 * MIB);
	CHECK(!is_registered(freed, 1) && is_registered(live, 16 * MIB));
}

PIN_TEST(nothing_evicted_during_a_capture_or_a_copy)
{
	char *memory = allocate_pinned(16 * MIB);

	pin_hold();
	pin_hold();
	pin_release();
	CHECK_EQ(pin_evict(SIZE_MAX), 0);
	pin_release();
	CHECK_EQ(pin_enter(range_find(memory), &memory), PIN_PINNED);
	CHECK_EQ(pin_enter(range_find(memory), NULL), PIN_PINNED);
	CHECK_EQ(pin_evict(SIZE_MAX), 0);
	pin_leave(NULL);
	CHECK_EQ(pin_evict(SIZE_MAX), 0);
	CHECK_EQ(pin_of(memory), BLOCK_PINNED);
	pin_leave(&memory);
	CHECK_EQ(pin_evict(SIZE_MAX), 16 * MIB);
}

PIN_TEST(nothing_that_is_due_is_unpinned_during_a_capture)
{
	char *memory = allocate_pinned(16 * MIB);

	CHECK_EQ(heap_free(memory), 0);
	test_clock_pass(2100 * TEST_MS);
	pin_hold();
	CHECK_EQ(pin_evict_due(SIZE_MAX), 0);
	pin_release();
	CHECK_EQ(pin_evict_due(SIZE_MAX), 16 * MIB);
}

static void begin_a_copy(void *base)
{
	pinning.inside_end = NULL;
	CHECK_EQ(pin_enter(range_find(base), NULL), PIN_TAKEN);
	CHECK_EQ(pin_enter_pageable(range_find(base), NULL), PIN_TAKEN);
}

PIN_TEST(a_copy_does_not_enter_during_an_unpinning)
{
	char *memory = allocate_pinned(16 * MIB);
	pinning.inside_end = begin_a_copy;
	CHECK_EQ(pin_evict(SIZE_MAX), 16 * MIB);
	CHECK_EQ(pin_enter(range_find(memory), NULL), PIN_PAGEABLE);
	pin_leave(NULL);
}

/* A device that never rests: freed blocks stay pinned, so no more may be pinned. */
TEST(freed_pins_are_bounded_too)
{
	char *blocks[12];

	machine_cgroup = (struct machine_cgroup){ .limit = 512 * MIB, .left = 512 * MIB };
	pinning_start(GIB);
	for (int i = 0; i < 12; i++)
		blocks[i] = allocate_pinned(16 * MIB);
	char *memory = allocate(20 * MIB);
	/* Four stay in the cache: an eighth of the limit. */
	for (int i = 0; i < 4; i++)
		heap_free(blocks[i]);
	CHECK(!heap_any_due());
	for (int i = 4; i < 12; i++)
		heap_free(blocks[i]);
	CHECK(heap_any_due());
	CHECK(!heat_up(memory, 20 * MIB));
	pin_evict_due(SIZE_MAX);
	CHECK(standin_registered_bytes() <= 64 * MIB);
	CHECK(heat_up(memory, 20 * MIB));
	CHECK(all_is_well());
}

static void free_it(void *base, size_t bytes)
{
	(void)bytes;
	pinning.inside = NULL;
	CHECK_EQ(heap_free(base), 0);
	/* It is not allocated meanwhile. */
	char *next = allocate(16 * MIB);
	CHECK(next != base);
	CHECK_EQ(heap_free(next), 0);
	CHECK_EQ(pin_evict_due(SIZE_MAX), 0);
}

PIN_TEST(freed_while_it_is_being_pinned)
{
	char *memory = allocate(16 * MIB);

	pinning.inside = free_it;
	copy(memory, 16 * MIB);
	CHECK(range_find(memory) == NULL);
	CHECK(all_is_well());
	test_clock_pass(2100 * TEST_MS);
	CHECK(heap_any_due());
	CHECK_EQ(pin_evict_due(SIZE_MAX), 16 * MIB);
	CHECK(all_is_well());

	pinning.refuse = CUDA_ERROR_INVALID_VALUE;
	memory = allocate(16 * MIB);
	pinning.inside = free_it;
	CHECK(!copy(memory, 16 * MIB));
}

CHECK_MAIN()
