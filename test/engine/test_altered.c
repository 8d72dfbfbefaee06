/*
 * test_altered.c - blocks whose pages the program changes: they are unpinned first and never pinned
 * again, and the next block at their addresses is unaffected.
 */
#include "base/clock.h"
#include "base/counters.h"
#include "heap/heap.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "pin/unpin.h"

#include "check.h"
#include "fake.h"
#include "pinning.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

static bool is_altered(const void *memory)
{
	return block_is_altered(range_find(memory));
}

PIN_TEST(unpinned_and_never_again)
{
	char *memory = allocate_pinned(64 * MIB), *other = allocate_pinned(16 * MIB);

	errno = 12;
	pin_altered(memory + 5 * MIB, 1);
	CHECK_EQ(errno, 12);
	CHECK_EQ(pin_of(memory), BLOCK_ALTERED);
	CHECK(!fake_is_registered(memory, 1));
	CHECK_EQ(fake.unregisters, 1);
	CHECK_EQ(hp_count_read(unpins), 1);
	for (int i = 0; i < 100; i++)
		CHECK(!copy(memory, 64 * MIB));
	pin_altered(memory, 64 * MIB);
	CHECK_EQ(fake.registers, 2);
	CHECK_EQ(fake.unregisters, 1);
	CHECK_EQ(pin_of(other), BLOCK_PINNED);
	CHECK(!is_altered(other));
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

/* The next owner of the addresses must not notice the change. */
PIN_TEST(nothing_of_it_survives_the_block)
{
	for (int mode = 0; mode < 5; mode++) {
		char *memory = allocate(MIB), *wall = allocate(MIB);
		int file = memfd_create("altered", 0);

		CHECK_EQ(ftruncate(file, MIB), 0);
		memset(memory, 1, MIB);
		pin_altered(memory, MIB);
		if (mode == 0)
			CHECK_EQ(mprotect(memory, MIB, PROT_READ), 0);
		else if (mode == 1)
			CHECK_EQ(mprotect(memory + 4096, 4096, PROT_NONE), 0);
		else if (mode == 2)
			CHECK(mmap(memory, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
				   file, 0) == memory);
		else if (mode == 3)
			CHECK_EQ(madvise(memory, MIB, MADV_WIPEONFORK), 0);
		else
			CHECK_EQ(munmap(memory + 64 * KIB, 64 * KIB), 0);
		CHECK_EQ(heap_free(memory), 0);
		CHECK_EQ(heap_check(), 0);

		char *again = allocate(MIB), byte = 0;
		CHECK(again == memory && !is_altered(again));
		CHECK(again[0] == 0 && memcmp(again, again + 1, MIB - 1) == 0);
		memset(again, 9, MIB);
		CHECK(pread(file, &byte, 1, 0) == 1 && byte == 0);
		if (CHECK_CHILD(0))
			_exit(again[0] == 9 && again[MIB - 1] == 9 ? 0 : 1);

		/* It is pinned like any other block. */
		for (int i = 0; i < 100 && !copy(again, MIB); i++)
			;
		CHECK_EQ(pin_of(again), BLOCK_PINNED);
		pin_altered(again, 1);
		CHECK_EQ(heap_free(again), 0);
		CHECK_EQ(heap_free(wall), 0);
		close(file);
	}
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

	CHECK_EQ(fake_program_register(memory, MIB), CUDA_SUCCESS);
	pin_altered(memory, MIB);
	CHECK(fake_is_registered(memory, MIB));
	CHECK_EQ(pin_of(memory), BLOCK_USER_REGISTERED);
	CHECK_EQ(fake_program_unregister(memory), CUDA_SUCCESS);
	CHECK_EQ(pin_of(memory), BLOCK_ALTERED);
	for (int i = 0; i < 20; i++)
		CHECK(!copy(memory, 16 * MIB));

	/* Freed while registered: the block is kept, but never allocated again. */
	CHECK_EQ(fake_program_register(memory, MIB), CUDA_SUCCESS);
	CHECK_EQ(mprotect(memory, MIB, PROT_READ), 0);
	CHECK_EQ(heap_free(memory), 0);
	CHECK(allocate(16 * MIB) != memory);
	CHECK_EQ(fake_program_unregister(memory), CUDA_SUCCESS);
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
	CHECK(fake_is_registered(memory, MIB));
	CHECK(allocate(16 * MIB) == memory && pin_of(memory) == BLOCK_PINNED);
	CHECK(!is_altered(memory));
}

/* A closed heap must not unmap memory that the device still reads. */
PIN_TEST(closed_with_pinned_blocks)
{
	char *live = allocate_pinned(16 * MIB), *freed = allocate_pinned(32 * MIB);

	memset(live, 1, 16 * MIB);
	memset(freed, 2, 32 * MIB);
	CHECK_EQ(heap_free(freed), 0);
	heap_close();
	CHECK(fake_is_registered(live, 16 * MIB) && fake_is_registered(freed, 32 * MIB));
	CHECK(freed[0] == 2 && freed[32 * MIB - 1] == 2);
	CHECK(copy(live, 16 * MIB));
	CHECK(heap_alloc(32 * MIB, 0, false, 0) == NULL);
	CHECK_EQ(heap_free(live), 0);
	CHECK(live[0] == 1);
	CHECK(heap_any_due());
	CHECK_EQ(pin_evict_due(SIZE_MAX), 48 * MIB);
	CHECK_EQ(msync(live, 4096, MS_ASYNC), -1);
	CHECK_EQ(msync(freed, 4096, MS_ASYNC), -1);
	CHECK(heap_alloc(16 * MIB, 0, false, 0) == NULL);
	CHECK_EQ(heap_check(), 0);
}

CHECK_MAIN()
