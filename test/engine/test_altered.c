/*
 * test_altered.c - which blocks a change of pages by the program concerns, and what happens to them
 * afterwards.  test/hazards has every way in which pages can change.
 */
#include "base/clock.h"
#include "heap/heap.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "pin/unpin.h"

#include "check.h"
#include "pinning.h"

#include <sys/mman.h>

static bool is_altered(const void *memory)
{
	return block_is_altered(range_find(memory));
}

PIN_TEST(each_block_that_has_a_byte_of_the_range)
{
	char *a = allocate(MIB), *b = allocate(MIB), *c = allocate(MIB), *d = allocate(MIB);

	CHECK(a + MIB == b && b + MIB == c && c + MIB == d);
	pin_altered(a, 0);
	pin_altered(b + MIB - 1, 2);
	CHECK(!is_altered(a) && is_altered(b) && is_altered(c) && !is_altered(d));
	pin_altered(d, SIZE_MAX);
	CHECK(!is_altered(a) && is_altered(d));
	CHECK(heap_touches(a, 1) && heap_touches(a - 1, 2) && heap_touches(a - MIB, GIB));
	CHECK(!heap_touches((char *)heap_base - 1, 1) && heap_touches((char *)heap_base - 1, 2));
	CHECK(heap_touches((char *)heap_base + heap_bytes - 1, 1));
	CHECK(!heap_touches((char *)heap_base + heap_bytes, GIB));
	CHECK(!heap_touches(&a, sizeof(a)));
	CHECK_EQ(heap_check(), 0);
}

PIN_TEST(what_realloc_does_with_it)
{
	char *memory = allocate(4 * MIB);

	pin_altered(memory, 1);
	CHECK(!heap_resize(memory, 8 * MIB));
	CHECK(!heap_resize(memory, MIB / 4));
	CHECK(heap_resize(memory, 3 * MIB));
	CHECK(is_altered(memory));
	CHECK_EQ(heap_usable(memory), 4 * MIB);
	/* It is copied. */
	memory[5] = 7;
	char *moved = heap_move(memory, 8 * MIB);
	CHECK(moved != NULL && moved[5] == 7 && !is_altered(moved));
	CHECK_EQ(heap_check(), 0);
}

PIN_TEST(what_the_program_has_registered_stays_registered)
{
	char *memory = allocate_pinned(16 * MIB);

	CHECK_EQ(program_registers(memory, MIB), CUDA_SUCCESS);
	pin_altered(memory, MIB);
	CHECK(is_registered(memory, MIB));
	CHECK_EQ(pin_of(memory), BLOCK_USER_REGISTERED);
	CHECK_EQ(program_unregisters(memory), CUDA_SUCCESS);
	CHECK_EQ(pin_of(memory), BLOCK_ALTERED);
	for (int i = 0; i < 20; i++)
		CHECK(!copy(memory, 16 * MIB));

	/* Freed while registered: the block is kept, but never allocated again. */
	CHECK_EQ(program_registers(memory, MIB), CUDA_SUCCESS);
	CHECK_EQ(mprotect(memory, MIB, PROT_READ), 0);
	CHECK_EQ(heap_free(memory), 0);
	CHECK(allocate(16 * MIB) != memory);
	CHECK_EQ(program_unregisters(memory), CUDA_SUCCESS);
	CHECK(allocate(16 * MIB) != memory);
	CHECK_EQ(heap_check(), 0);
	heap_expire(hp_now_ns());
	CHECK(allocate(16 * MIB) == memory);
	memory[0] = 1;
}

PIN_TEST(blocks_that_are_free_are_left_alone)
{
	char *memory = allocate_pinned(16 * MIB);

	CHECK_EQ(heap_free(memory), 0);
	pin_altered(memory, 16 * MIB);
	CHECK(is_registered(memory, MIB));
	CHECK(allocate(16 * MIB) == memory && pin_of(memory) == BLOCK_PINNED);
	CHECK(!is_altered(memory));
}

CHECK_MAIN()
