/*
 * test_heap_move.c - realloc() moves pages instead of copying; the old addresses are checked, too.
 */
#include "heap/heap.h"
#include "base/lock.h"
#include "heap/cache.h"
#include "heap/map.h"

#include "heap_helpers.h"

#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>

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

HEAP_TEST(a_block_moves_with_its_contents)
{
	size_t live, kept;

	char *block = heap_alloc(20 * MIB, WHOLE(20 * MIB), false, 0);
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
	CHECK_EQ(live, heap_usable(moved));
	CHECK_EQ(heap_check(), 0);

	/* The old addresses are zero and can be allocated again. */
	CHECK(heap_alloc(20 * MIB, WHOLE(20 * MIB), true, 0) == block);
	CHECK(all_are(block, 20 * MIB, 0));
	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(heap_check(), 0);

	/* A block that loses most of its class moves, too. */
	CHECK(!heap_resize(moved, 3 * MIB));
	char *less = heap_move(moved, 3 * MIB);
	CHECK(less != NULL && all_are(less, 3 * MIB, 7));
	CHECK_EQ(heap_usable(less), 3 * MIB);
	CHECK_EQ(heap_free(less), 0);
}

HEAP_TEST(pages_move_and_nothing_is_copied)
{
	uint64_t before, after = 0;

	char *block = heap_alloc(20 * MIB, WHOLE(20 * MIB), false, 0);
	memset(block, 7, 20 * MIB);
	if (!frame_of(block + 5 * MIB, &before))
		CHECK_SKIP("the kernel hides page frames from this process");
	char *moved = heap_move(block, 50 * MIB);
	CHECK(moved != NULL && frame_of(moved + 5 * MIB, &after));
	CHECK_EQ(before, after);
}

HEAP_TEST(what_may_not_move)
{
	char *block = heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0);
	int local = 0;

	CHECK(heap_move(block + MIB, 8 * MIB) == NULL);
	CHECK(heap_move(&local, 8 * MIB) == NULL);
	CHECK(heap_move(block, SIZE_MAX) == NULL);

	CHECK(range_find(block) != NULL && heap_usable(block) == 4 * MIB);
}

/* Pages that are registered stay where they are: the contents are copied. */
HEAP_TEST(registered_pages_stay)
{
	for (int turn = 0; turn < 3; turn++) {
		/* Each turn has a class of its own, so it gets a new block. */
		size_t bytes = (size_t)(turn + 4) * MIB;
		char *block = heap_alloc(bytes, WHOLE(4 * MIB), false, 0);
		hp_word *word = &range_find(block)->word;

		memset(block, turn, bytes);
		CHECK(turn == 2 ? !word_alter(word, WORD_REGISTERED) : word_try_pin(word));
		CHECK(turn != 1 || word_release(word, true, NULL));
		enum block_pin pin = block_pin(range_find(block));
		CHECK(!heap_resize(block, bytes + MIB));
		CHECK(!heap_resize(block, MIB / 4));
		char *moved = heap_move(block, 8 * MIB);
		CHECK(moved != NULL && all_are(moved, bytes, (char)turn));
		CHECK(all_are(block, bytes, (char)turn));
		CHECK_EQ(block_pin(map_at((uintptr_t)block)), pin);
		CHECK_EQ(heap_check(), 0);
	}
}

/* A loop of growing blocks gets the pages of the last turn, and faults none in. */
HEAP_TEST(who_grows_again_has_pages)
{
	skip_if_sanitized();
	heap_set_device(true);
	for (int turn = 0; turn < 8; turn++) {
		char *block = heap_alloc(64 * KIB, 0, false, 0);
		struct rusage before, after;

		memset(block, 0, 64 * KIB);
		getrusage(RUSAGE_SELF, &before);
		for (size_t bytes = 64 * KIB; bytes < 16 * MIB; bytes += 64 * KIB) {
			char *longer = block;

			if (!heap_resize(block, bytes + 64 * KIB))
				longer = heap_move(block, bytes + 64 * KIB);
			if (!CHECK(longer != NULL))
				return;
			block = longer;
			memset(block + bytes, 1, 64 * KIB);
		}
		getrusage(RUSAGE_SELF, &after);
		printf("# %ld page faults\n", after.ru_minflt - before.ru_minflt);
		CHECK(turn < 7 || after.ru_minflt - before.ru_minflt < 100);
		CHECK_EQ(heap_free(block), 0);
	}
}

HEAP_TEST(heat_and_huge_pages_move_along)
{
	heap_set_device(true);
	huge_note_site(5, true);
	char *block = heap_alloc(20 * MIB, WHOLE(20 * MIB), false, 5);
	range_find(block)->copied_bytes = 777;
	memset(block, 1, 20 * MIB);
	block = heap_move(block, 40 * MIB);
	if (!CHECK(block != NULL))
		return;
	CHECK(range_find(block)->huge);
	CHECK_EQ(range_find(block)->copied_bytes, 777);
}

/* Many blocks that grow take half of the addresses at most. */
TEST(addresses_are_left_for_others)
{
	char *first = heap_move(heap_alloc(128 * KIB, 0, false, 0), 256 * KIB);
	CHECK_EQ(range_find(first)->bytes, 32 * MIB);
	hp_lock(HP_LOCK_heap);
	while (map_is_roomy() && map_create(map_class(4 * GIB)) != NULL)
		continue;
	hp_unlock(HP_LOCK_heap);
	char *next = heap_move(heap_alloc(128 * KIB, 0, false, 0), 256 * KIB);
	CHECK(next != NULL && range_find(next)->bytes < MIB);
	CHECK(heap_alloc(40 * MIB, 0, false, 0) != NULL);
}

/* As a program that appends: the block has its class to grow into. */
HEAP_TEST(who_grows_by_little_has_room)
{
	size_t bytes = 128 * KIB, moves = 0;

	char *block = heap_alloc(bytes, 0, false, 0);
	block[0] = 1;
	while (bytes < 64 * MIB) {
		bytes += 4 * KIB;
		if (!heap_resize(block, bytes)) {
			block = heap_move(block, bytes);
			moves++;
		}
		if (!CHECK(block != NULL && heap_usable(block) >= bytes))
			return;
	}
	CHECK(moves <= 2);
	CHECK(block[0] == 1 && all_are(block + 4 * KIB, bytes - 4 * KIB, 0));
	CHECK_EQ(heap_free(block), 0);
}

HEAP_TEST(mappings_do_not_pile_up)
{
	char *blocks[16];

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
