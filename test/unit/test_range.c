/*
 * test_range.c - look-ups of addresses at every boundary of blocks.
 */
#include "heap/map.h"
#include "heap/heap.h"

#include "check.h"
#include "heap_check.h"
#include "sizes.h"

TEST(nothing_before_the_first_block)
{
	int local = 0;

	CHECK(range_find(&local) == NULL);
	CHECK(range_find(NULL) == NULL);
	CHECK(!heap_owns(&local));
	CHECK(!heap_owns(NULL));
	CHECK(!heap_owns((void *)-1));
	CHECK_EQ(heap_bytes, 0);
}

HEAP_TEST(every_border_of_a_block)
{
	char *first = heap_alloc(300 * KIB, 0, false, 0);
	struct block *block = range_find(first);
	if (!CHECK(block != NULL))
		return;
	size_t room = block->room;

	CHECK_EQ(block->base, (uintptr_t)first);
	CHECK_EQ(block->size, 300 * KIB);
	CHECK(room >= 300 * KIB);
	CHECK(range_find(first + 1) == block);
	CHECK(range_find(first + room - 1) == block);
	CHECK(range_find(first + room) != block);
	CHECK(range_find(first - 1) != block);

	CHECK(range_covers(block, first, 0));
	CHECK(range_covers(block, first, room));
	CHECK(!range_covers(block, first, room + 1));
	CHECK(range_covers(block, first + room, 0));
	CHECK(!range_covers(block, first + room, 1));
	CHECK(!range_covers(block, first - 1, 1));
	CHECK(!range_covers(block, first + 1, SIZE_MAX));
	CHECK(range_covers(block, first + 17, room - 17));
	CHECK(!range_covers(block, first + 17, room - 16));

	CHECK_EQ(heap_free(first), 0);
	CHECK(range_find(first) == NULL);
	CHECK(range_find(first + room - 1) == NULL);
}

HEAP_TEST(outside_the_range)
{
	int local = 0;

	CHECK(heap_alloc(MIB, 0, false, 0) != NULL);
	char *base = (char *)heap_base;
	CHECK(!heap_owns(base - 1));
	CHECK(heap_owns(base));
	CHECK(heap_owns(base + heap_bytes - 1));
	CHECK(!heap_owns(base + heap_bytes));
	CHECK(range_find(base - 1) == NULL);
	CHECK(range_find(base + heap_bytes) == NULL);
	CHECK(range_find(base + heap_bytes - 1) == NULL);
	CHECK(range_find(&local) == NULL);
	CHECK(range_find(NULL) == NULL);
	CHECK(range_find((void *)-1) == NULL);
}

static int count_walk(const char *from, const char *to)
{
	struct block *block = NULL;
	int count = 0;

	while ((block = range_next(block, from, (uintptr_t)to - (uintptr_t)from)) != NULL)
		count++;
	return count;
}

HEAP_TEST(walks_over_several_blocks)
{
	/* New blocks are adjacent. */
	char *a = heap_alloc(256 * KIB, 4 * KIB, false, 0);
	char *b = heap_alloc(256 * KIB, 4 * KIB, false, 0);
	char *c = heap_alloc(256 * KIB, 4 * KIB, false, 0);
	CHECK(a + 256 * KIB == b && b + 256 * KIB == c);

	CHECK_EQ(count_walk(a, a), 0);
	CHECK_EQ(count_walk(a, a + 1), 1);
	CHECK_EQ(count_walk(a, b), 1);
	CHECK_EQ(count_walk(a, b + 1), 2);
	CHECK_EQ(count_walk(b - 1, b + 1), 2);
	CHECK_EQ(count_walk(a + 5, c + 5), 3);
	CHECK_EQ(count_walk(c, c + 64 * MIB), 1);
	CHECK_EQ(count_walk((char *)heap_base - MIB, c + 1), 3);
	CHECK_EQ(count_walk((char *)16, (char *)heap_base), 0);
	CHECK_EQ(count_walk(c + 256 * KIB, (char *)UINTPTR_MAX), 0);

	/* One of the other part of the range follows. */
	char *large = heap_alloc(4 * MIB, MIB, false, 0);
	CHECK(large > c);
	CHECK_EQ(count_walk(c, large + 1), 2);
	CHECK_EQ(count_walk(large + MIB, large + 2 * MIB), 1);
	CHECK_EQ(count_walk(large + 4 * MIB, (char *)UINTPTR_MAX), 0);
	CHECK_EQ(count_walk(NULL, (char *)UINTPTR_MAX), 4);

	/* Freed blocks keep their place until their pages are dropped. */
	CHECK_EQ(heap_free(b), 0);
	CHECK_EQ(count_walk(a, c + 1), 3);
	CHECK(range_find(b) == NULL);
}

CHECK_MAIN()
