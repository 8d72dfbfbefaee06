/*
 * test_pin_site.c - what allocation sites learn from pins, and how long a copy's cost is
 * remembered.
 */
#include "heap/huge_pages.h"
#include "heap/reclaim.h"
#include "heap/heap.h"
#include "pin/unpin.h"

#include "check.h"
#include "pinning.h"

#include <sys/mman.h>

static char *allocate_at(uint32_t site, size_t bytes)
{
	char *memory = heap_alloc(bytes, 64 * KIB, false, site);

	if (!CHECK(memory != NULL))
		_exit(1);
	return memory;
}

static bool is_dense(uint32_t site)
{
	return huge_site_is_dense(site);
}

/* Frees and unpins the block, and drops its pages. */
static void let_go(char *memory)
{
	CHECK_EQ(heap_free(memory), 0);
	heap_set_level(PRESSURE_SEVERE);
	while (heap_any_due() && pin_evict_due(SIZE_MAX) > 0)
		;
	heap_set_level(PRESSURE_NONE);
	CHECK(!is_registered(memory, 1));
	CHECK_EQ(memory[0], 0);
}

/* realloc() moves the count of copied bytes together with the pages. */
PIN_TEST(moved_pages_take_their_copy_cost_along)
{
	char *memory = allocate_at(5, 4 * MIB), *wall = allocate_at(6, 4 * MIB);

	memset(memory, 1, 4 * MIB);
	range_find(memory)->copied_bytes = 1000;
	char *moved = heap_move(memory, 8 * MIB);
	if (!CHECK(moved != NULL && wall != NULL))
		return;
	CHECK_EQ(range_find(moved)->copied_bytes, 1000);
	let_go(moved);
	/* Its class is that of four times its size. */
	char *again = allocate_at(5, 32 * MIB);
	CHECK(again == moved && range_find(again)->copied_bytes == 0);
}

static int copies_until_pinned(const char *memory)
{
	int copies = 1;

	while (copies < 100 && !copy(memory, 16 * MIB))
		copies++;
	return copies;
}

PIN_TEST(a_context_that_goes_ends_the_copy_cost_too)
{
	char *memory = allocate_at(5, 64 * MIB);
	int copies = copies_until_pinned(memory);

	CHECK(copies > 1 && copies < 100);
	range_find(memory)->copied_bytes = 1000000;
	end_context(context);
	new_context();
	CHECK_EQ(range_find(memory)->copied_bytes, 0);
	CHECK_EQ(copies_until_pinned(memory), copies);
}

TEST(large_blocks_teach_how_dense_they_are)
{
	const size_t large = 300 * MIB;

	pinning_start(2 * GIB);
	char *dense = allocate_at(5, large), *sparse = allocate_at(7, large);
	char *small = allocate_at(9, 64 * MIB);
	range_find(dense)->huge = range_find(sparse)->huge = false;

	CHECK_EQ(madvise(dense, large, MADV_NOHUGEPAGE), 0);
	CHECK_EQ(madvise(sparse, large, MADV_NOHUGEPAGE), 0);
	memset(dense, 1, large);
	memset(sparse, 1, large / 4);
	CHECK(heat_up(dense, large));
	CHECK(is_dense(5));
	/* 2 MiB pages would make the process 225 MiB larger. */
	CHECK(!heat_up(sparse, large));
	CHECK(!is_dense(7));
	CHECK_EQ(pin_of(sparse), BLOCK_PAGEABLE);
	CHECK_EQ(pinning.registers, 1);
	memset(sparse, 1, large / 4 * 3);
	CHECK(heat_up(sparse, large));
	CHECK(!is_dense(7));
	CHECK(heat_up(small, 64 * MIB) && !is_dense(9));
	CHECK(all_is_well());
}

CHECK_MAIN()
