/*
 * test_heap_move.c - realloc() moves pages instead of copying; the old addresses are checked, too.
 */
#include "heap/heap.h"
#include "base/lock.h"
#include "heap/pin_state.h"
#include "heap/map.h"
#include "heap/resize.h"

#include "heap_helpers.h"

#include <errno.h>
#include <stdint.h>

/* Counts the lines of /proc/self/maps. */
static int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	int count = 0;

	for (int c; file != NULL && (c = fgetc(file)) != EOF;)
		count += c == '\n';
	if (file != NULL)
		fclose(file);
	return count;
}

/* Returns the physical page frame of the address; false if the process may not see it. */
static bool frame_of(const void *address, uint64_t *ret)
{
	FILE *file = fopen("/proc/self/pagemap", "rb");
	bool seen = file != NULL &&
		    fseek(file, (long)((uintptr_t)address / 4096 * 8), SEEK_SET) == 0 &&
		    fread(ret, 8, 1, file) == 1;

	if (file != NULL)
		fclose(file);
	*ret &= ((uint64_t)1 << 55) - 1;
	return seen && *ret != 0;
}

TEST(a_block_moves_with_its_contents)
{
	size_t live, kept;

	heap_start();
	char *block = heap_alloc(20 * MIB, WHOLE, false, 0),
	     *wall = heap_alloc(2 * MIB, WHOLE, false, 0);
	CHECK(block + 20 * MIB == wall);
	memset(block, 7, 20 * MIB);
	errno = 66;

	CHECK(!heap_resize(block, 50 * MIB));
	char *moved = heap_move(block, 50 * MIB);
	if (!CHECK(moved != NULL && moved != block))
		return;
	CHECK_EQ(errno, 66);
	CHECK(all_are(moved, 20 * MIB, 7));
	CHECK(all_are(moved + 20 * MIB, 30 * MIB, 0));
	CHECK_EQ((uintptr_t)moved % (2 * MIB), 0);
	CHECK_EQ(range_find(moved)->size, 50 * MIB);
	CHECK(range_find(block) == NULL);
	CHECK_EQ(heap_free(block), -EINVAL);
	heap_stats(&live, &kept);
	CHECK_EQ(live, heap_usable(moved) + 2 * MIB);
	CHECK_EQ(heap_check(), 0);

	/* The old addresses are zero and can be allocated again. */
	CHECK(heap_alloc(20 * MIB, WHOLE, true, 0) == block);
	CHECK(all_are(block, 20 * MIB, 0));
	CHECK_EQ(heap_free(moved), 0);
	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(heap_free(wall), 0);
	CHECK_EQ(heap_check(), 0);
}

TEST(pages_move_and_nothing_is_copied)
{
	uint64_t before, after = 0;

	heap_start();
	char *block = heap_alloc(20 * MIB, WHOLE, false, 0);
	memset(block, 7, 20 * MIB);
	if (!frame_of(block + 5 * MIB, &before))
		CHECK_SKIP("the kernel hides page frames from this process");
	char *moved = heap_move(block, 50 * MIB);
	CHECK(moved != NULL && frame_of(moved + 5 * MIB, &after));
	CHECK_EQ(before, after);
}

TEST(what_may_not_move)
{
	heap_start();
	char *block = heap_alloc(4 * MIB, WHOLE, false, 0),
	     *small = heap_alloc(512 * KIB, 0, false, 0);
	int local = 0;

	CHECK(heap_move(small, 8 * MIB) == NULL);
	CHECK(heap_move(block, 4 * MIB) == NULL);
	CHECK(heap_move(block, MIB) == NULL);
	CHECK(heap_move(block + MIB, 8 * MIB) == NULL);
	CHECK(heap_move(&local, 8 * MIB) == NULL);
	CHECK(heap_move(block, SIZE_MAX) == NULL);

	hp_word *word = &range_find(block)->word;
	for (int turn = 0; turn < 3; turn++) {
		if (turn == 0)
			CHECK(word_try_pin(word));
		else if (turn == 1)
			CHECK(word_release(word, true));
		else
			CHECK(word_alter(word, WORD_REGISTERED));
		CHECK(heap_move(block, 8 * MIB) == NULL);
		CHECK(!heap_resize(block, 8 * MIB));
		CHECK(!heap_resize(block, MIB));
	}
	CHECK(range_find(block) != NULL && heap_usable(block) == 4 * MIB);
	CHECK_EQ(heap_check(), 0);
}

TEST(heat_and_huge_pages_move_along)
{
	heap_start();
	heap_set_device(true);
	char *block = heap_alloc(20 * MIB, WHOLE, false, 5);
	CHECK(heap_alloc(2 * MIB, WHOLE, false, 0) == block + 20 * MIB);
	range_find(block)->copied_bytes = 777;
	memset(block, 1, 20 * MIB);
	block = heap_move(block, 40 * MIB);
	if (!CHECK(block != NULL))
		return;
	CHECK(range_find(block)->huge);
	CHECK_EQ(range_find(block)->copied_bytes, 777);
}

/* As a program that appends: the mapping rarely changes. */
TEST(who_grows_by_little_has_room)
{
	size_t bytes = 256 * KIB, steps = 0;

	heap_start();
	char *block = heap_alloc(bytes, 0, false, 0);
	block[0] = 1;
	while (bytes < 64 * MIB) {
		size_t before = heap_usable(block);

		bytes += 4 * KIB;
		if (!CHECK(heap_resize(block, bytes)))
			return;
		size_t usable = heap_usable(block);
		steps += usable != before;
		CHECK(usable >= bytes && usable <= bytes + bytes / 8);
	}
	CHECK(steps <= 110);
	CHECK(block[0] == 1 && all_are(block + 4 * KIB, bytes - 4 * KIB, 0));
	CHECK_EQ(heap_free(block), 0);

	/* If there is less room, the block gets the size that it needs. */
	block = heap_alloc(8 * MIB, WHOLE, false, 0);
	char *next = heap_alloc(2 * MIB, WHOLE, false, 0);
	CHECK(next == block + 8 * MIB);
	CHECK(heap_resize(block, 7 * MIB) && heap_usable(block) == 7 * MIB);
	CHECK(heap_resize(block, 8 * MIB) && heap_usable(block) == 8 * MIB);
	CHECK_EQ(heap_check(), 0);
}

TEST(mappings_do_not_pile_up)
{
	char *blocks[16];

	heap_start();
	CHECK_EQ(heap_free(heap_alloc(100 * MIB, 0, false, 0)), 0);
	int before = mappings();
	for (int round = 0; round < 60; round++) {
		for (int i = 0; i < 16; i++)
			memset(blocks[i] = heap_alloc(2 * MIB, 0, false, 0), i, 2 * MIB);
		for (int i = 0; i < 16; i++) {
			for (size_t bytes = 4 * MIB; bytes <= 16 * MIB; bytes *= 2) {
				char *moved = heap_resize(blocks[i], bytes)
						      ? blocks[i]
						      : heap_move(blocks[i], bytes);

				if (!CHECK(moved != NULL))
					return;
				blocks[i] = moved;
			}
			CHECK(all_are(blocks[i], 2 * MIB, (char)i));
		}
		for (int i = 0; i < 16; i++)
			CHECK_EQ(heap_free(blocks[(i * 7 + round) % 16]), 0);
		CHECK_EQ(heap_check(), 0);
	}
	/* All of it is free again, and nothing is cached. */
	heap_set_level(PRESSURE_SEVERE);
	printf("# %d mappings before, %d after\n", before, mappings());
	CHECK(mappings() < before + 6);
}

CHECK_MAIN()
