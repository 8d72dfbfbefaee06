/*
 * test_pin_eviction.c - blocks in use are unpinned when memory is short.
 */
#include "base/counters.h"
#include "heap/reclaim.h"
#include "pin/unpin.h"
#include "pin/pin.h"

#include "check.h"
#include "clock.h"
#include "fake.h"
#include "machine.h"
#include "pinning.h"

PIN_TEST(relieves_as_much_as_is_asked)
{
	char *blocks[4];
	size_t pinned = 0;

	for (int i = 0; i < 4; i++)
		blocks[i] = allocate_pinned(16 * MIB);
	CHECK(!heap_any_due());
	CHECK_EQ(pin_evict(1), 16 * MIB);
	CHECK_EQ(pin_evict(32 * MIB), 32 * MIB);
	for (int i = 0; i < 4; i++)
		pinned += fake_is_registered(blocks[i], 16 * MIB);
	CHECK_EQ(pinned, 1);
	CHECK_EQ(pin_evict(SIZE_MAX), 16 * MIB);
	CHECK_EQ(pin_evict(SIZE_MAX), 0);
	CHECK_EQ(hp_count_read(unpins), 4);
	CHECK(fake_all_well());

	/* It may be pinned again. */
	CHECK(copy(blocks[2], 16 * MIB));
}

PIN_TEST(relieves_freed_blocks_before_those_in_use)
{
	char *live = allocate_pinned(16 * MIB), *wall = allocate(MIB);
	char *freed = allocate_pinned(16 * MIB);

	CHECK(wall != NULL);
	CHECK_EQ(heap_free(freed), 0);
	CHECK_EQ(pin_evict(16 * MIB), 16 * MIB);
	CHECK(!fake_is_registered(freed, 1) && fake_is_registered(live, 16 * MIB));
}

PIN_TEST(nothing_evicted_during_a_capture_or_a_copy)
{
	char *memory = allocate_pinned(16 * MIB);

	pin_hold();
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

static void begin_a_copy(void *base)
{
	fake.inside_end = NULL;
	CHECK_EQ(pin_enter(range_find(base), NULL), PIN_TAKEN);
	CHECK_EQ(pin_enter_pageable(range_find(base), NULL), PIN_TAKEN);
}

PIN_TEST(a_copy_does_not_enter_during_an_unpinning)
{
	char *memory = allocate_pinned(16 * MIB);
	fake.inside_end = begin_a_copy;
	CHECK_EQ(pin_evict(SIZE_MAX), 16 * MIB);
	CHECK_EQ(pin_enter(range_find(memory), NULL), PIN_PAGEABLE);
	pin_leave(NULL);
}

static void free_it(void *base)
{
	fake.inside_end = NULL;
	CHECK_EQ(heap_free(base), 0);
	/* Its pages must not be dropped while the driver has them. */
	heap_set_level(PRESSURE_SEVERE);
	heap_set_level(PRESSURE_NONE);
	CHECK_EQ(((char *)base)[MIB], 0x6b);
	CHECK(allocate(16 * MIB) != base);
	CHECK_EQ(heap_check(), 0);
}

PIN_TEST(freed_while_it_is_relieved)
{
	char *memory = allocate_pinned(16 * MIB);

	memset(memory, 0x6b, 16 * MIB);
	fake.inside_end = free_it;
	CHECK_EQ(pin_evict(SIZE_MAX), 16 * MIB);
}

/* A device that never rests: freed blocks stay pinned, so no more may be pinned. */
TEST(freed_pins_are_bounded_too)
{
	char *blocks[12];

	machine_cgroup = (struct machine_cgroup){ .limit = 512 * MIB, .left = 512 * MIB };
	fake_start(GIB);
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
	CHECK(fake.bytes <= 64 * MIB);
	CHECK(heat_up(memory, 20 * MIB));
	CHECK(fake_all_well());
}

PIN_TEST(pressed_pins_nothing)
{
	char *pinned = allocate_pinned(16 * MIB), *memory = allocate(16 * MIB);

	pin_set_pressure(true);
	CHECK(!copy(memory, 16 * MIB) && copy(pinned, 16 * MIB));
	CHECK_EQ(fake.registers, 1);
	pin_set_pressure(false);
	CHECK(copy(memory, 16 * MIB));
}

CHECK_MAIN()
