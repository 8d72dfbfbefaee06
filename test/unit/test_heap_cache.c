/*
 * test_heap_cache.c - freed blocks: which allocation gets them, their contents, how many are cached
 * and how long.
 */
#include "base/clock.h"
#include "base/counters.h"
#include "heap/cache.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "heap/reclaim.h"

#include "check.h"
#include "heap_helpers.h"
#include "machine.h"

#include <errno.h>
#include <sys/mman.h>

HEAP_TEST(kept_blocks_keep_their_alignment)
{
	heap_free(heap_alloc(4 * MIB, 0, false, 0));
	char *odd = heap_alloc(5 * MIB, 0, false, 0);

	CHECK((uintptr_t)odd % MIB != 0);
	CHECK_EQ(heap_free(odd), 0);
	char *even = heap_alloc(5 * MIB + 100 * KIB, MIB, false, 0);
	CHECK_EQ((uintptr_t)even % MIB, 0);
	CHECK(range_find(even) == range_find(odd));
}

HEAP_TEST(a_block_above_the_bound_goes_back)
{
	const size_t bytes = 64 * MIB;

	skip_if_sanitized();
	char *block = heap_alloc(bytes, WHOLE(bytes), false, 0), *again;

	heap_set_level(PRESSURE_NONE);
	hp_lock(HP_LOCK_heap);
	size_t bound = cache_bound.most;
	hp_unlock(HP_LOCK_heap);
	memset(block, 1, bytes);
	CHECK_EQ(heap_free(block), 0);
	CHECK(bound < bytes);
	CHECK_EQ(kept(), 0);
	again = heap_alloc(bytes, WHOLE(bytes), true, 0);
	CHECK(again == block && all_are(again, bytes, 0));
}

HEAP_TEST(zeroed_after_every_kind_of_recycling)
{
	for (size_t bytes = 256 * KIB; bytes <= 128 * MIB; bytes *= 2) {
		char *block = heap_alloc(bytes, WHOLE(bytes), false, 0);

		memset(block, 0x5a, heap_usable(block));
		CHECK_EQ(heap_free(block), 0);
		block = heap_alloc(bytes - 100, WHOLE(bytes - 100), true, 0);
		CHECK(all_are(block, bytes - 100, 0));
		memset(block, 0x5a, heap_usable(block));
		CHECK_EQ(heap_free(block), 0);
		/* Expired: its pages were dropped. */
		if (bytes == MIB)
			pass_ms(2700);
		block = heap_alloc(bytes, WHOLE(bytes), true, 0);
		CHECK(all_are(block, bytes, 0));
		memset(block, 0x5a, heap_usable(block));
		/* Shortened before it was freed. */
		CHECK(heap_resize(block, bytes / 4 * 3));
		CHECK_EQ(heap_free(block), 0);
		char *again = heap_alloc(bytes, WHOLE(bytes), true, 0);
		CHECK(all_are(again, bytes, 0));
		CHECK_EQ(heap_free(again), 0);
	}
}

HEAP_TEST(a_freed_block_serves_the_next_of_its_size)
{
	char *block = heap_alloc(MIB, WHOLE(MIB), false, 0);
	memset(block, 1, MIB);
	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(kept(), MIB);
	CHECK(heap_alloc(MIB - 5000, WHOLE(MIB - 5000), false, 0) == block);
	CHECK_EQ(kept(), 0);
	heap_count();
	CHECK_EQ(hp_count_read(blocks_served), 2);
	CHECK_EQ(hp_count_read(blocks_reused), 1);
	CHECK_EQ(range_find(block)->size, MIB - 5000);
}

/* A block of another class stays for its own. */
HEAP_TEST(every_class_has_its_blocks)
{
	char *a = heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0),
	     *b = heap_alloc(5 * MIB, WHOLE(5 * MIB), false, 0);
	CHECK_EQ(heap_free(a), 0);
	CHECK_EQ(heap_free(b), 0);
	CHECK(heap_alloc(4 * MIB + 1, WHOLE(4 * MIB), false, 0) != a);
	CHECK(heap_alloc(4 * MIB - 100, WHOLE(4 * MIB), false, 0) == a);
	CHECK(heap_alloc(5 * MIB, WHOLE(5 * MIB), false, 0) == b);
	CHECK_EQ(kept(), 0);

	/* So it does without pages: its addresses are used again. */
	CHECK_EQ(heap_free(a), 0);
	heap_set_level(PRESSURE_SEVERE);
	CHECK_EQ(kept(), 0);
	CHECK(heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0) == a);
}

HEAP_TEST(what_is_kept_is_bounded_without_a_device)
{
	char *blocks[12];

	skip_if_sanitized();
	size_t before = memory_resident();
	for (int i = 0; i < 12; i++)
		memset(blocks[i] = heap_alloc(16 * MIB, WHOLE(16 * MIB), false, 0), i, 16 * MIB);
	for (int i = 0; i < 12; i++) {
		CHECK_EQ(heap_free(blocks[i]), 0);
		CHECK(kept() <= 32 * MIB);
		CHECK_EQ(heap_check(), 0);
	}
	CHECK(kept() >= 16 * MIB);
	CHECK(memory_resident() < before + 34 * MIB);
	CHECK(heap_alloc(16 * MIB, WHOLE(16 * MIB), false, 0) != NULL);
	heap_count();
	CHECK_EQ(hp_count_read(blocks_reused), 1);
}

/*
 * Memory that is freed and allocated alternately is left to the next allocator until a thread tends
 * the cache.
 */
HEAP_TEST(what_nobody_attends_yields)
{
	static char *blocks[1500];
	unsigned served[3] = { 0 };

	heap_set_device(true);
	heap_set_attended(false, 256 * KIB);
	for (int turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 1500; i++) {
			blocks[i] = heap_alloc(100 * KIB, WHOLE(100 * KIB), false, 0);
			served[turn] += blocks[i] != NULL;
		}
		for (int i = 0; i < 1500; i++)
			CHECK(blocks[i] == NULL || heap_free(blocks[i]) == 0);
		CHECK(kept() <= 32 * MIB);
	}
	/* In the first round this was unknown.  Cached blocks are used, and not extended. */
	CHECK_EQ(served[0], 1500);
	CHECK(served[1] >= 213 && served[1] <= 327);
	CHECK(served[2] >= 213 && served[2] <= served[1]);
	/* Larger blocks are ours as before; all are, once a thread tends the cache. */
	for (int i = 0; i < 1500; i++)
		CHECK((blocks[i] = heap_alloc(256 * KIB, WHOLE(256 * KIB), false, 0)) != NULL);
	/* A rest may be cached. */
	unsigned rest = 0;
	while (heap_alloc(100 * KIB, WHOLE(100 * KIB), false, 0) != NULL)
		CHECK(++rest <= 327);
	heap_set_attended(true, 0);
	CHECK(heap_alloc(100 * KIB, WHOLE(100 * KIB), false, 0) != NULL);
}

/* Of the cached blocks and those in slots, as much as requested stays, for as long as needed. */
HEAP_TEST(trimming)
{
	char *blocks[10];

	heap_set_device(true);
	CHECK(!heap_trim(0));
	for (int turn = 0; turn < 2; turn++) {
		for (int i = 0; i < 10; i++)
			memset(blocks[i] = heap_alloc(4 * MIB, WHOLE(4 * MIB), false, 0), 1,
			       4 * MIB);
		CHECK(!heap_trim(0));
		for (int i = 0; i < 10; i++)
			CHECK_EQ(heap_free(blocks[i]), 0);
	}
	CHECK(!heap_trim(64 * MIB));
	CHECK_EQ(kept(), 40 * MIB);
	errno = ENOTTY;
	CHECK(heap_trim(16 * MIB));
	CHECK(kept() <= 16 * MIB && kept() >= 12 * MIB);
	CHECK(heap_trim(0));
	CHECK_EQ(kept(), 0);
	CHECK(!heap_trim(0));
	CHECK_EQ(errno, ENOTTY);
	/* The limit is unchanged. */
	char *block = heap_alloc(32 * MIB, WHOLE(32 * MIB), true, 0);
	CHECK(all_are(block, 32 * MIB, 0));
	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(kept(), 32 * MIB);
}

/* Clearing drops pages or writes zeros, depending on the size. */
HEAP_TEST(cleared_is_zero_however_it_was_used)
{
	size_t bytes = 40 * MIB, offset = 0;

	heap_set_device(true);
	char *first = heap_alloc(bytes, 0, false, 0);
	CHECK_EQ(heap_free(first), 0);
	for (unsigned round = 0; round < 26; round++) {
		char *block = heap_alloc(bytes - round, 0, true, 0);
		/* Sparse ten times, then in halves, then as a whole, then all in turn. */
		unsigned kind = round < 10 ? 0 : round < 14 ? 1 : round < 18 ? 2 : round % 3;

		CHECK(block == first);
		CHECK(all_are(block, bytes - round, 0));
		offset = (offset + 7 * MIB + 12345) % (bytes - 64);
		block[offset] = 1;
		if (kind == 1)
			memset(block + round % 2 * bytes / 2, 1, bytes / 2 - 64);
		else if (kind == 2)
			memset(block, 1, bytes - 64);
		CHECK_EQ(heap_free(block), 0);
	}
}

HEAP_TEST(memory_goes_back_with_age)
{
	skip_if_sanitized();
	heap_set_device(true);
	size_t before = memory_resident();
	char *block = heap_alloc(56 * MIB, WHOLE(56 * MIB), false, 0),
	     *newer = heap_alloc(24 * MIB, WHOLE(24 * MIB), false, 0);
	CHECK(!heap_needs_expiry());
	memset(block, 1, 56 * MIB);
	memset(newer, 1, 24 * MIB);
	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(heap_free(newer), 0);
	CHECK(memory_resident() > before + 79 * MIB);

	uint64_t now = hp_now_ns();
	heap_expire(now);
	CHECK_EQ(kept(), 80 * MIB);
	heap_expire(now - CACHE_NS);
	CHECK_EQ(kept(), 80 * MIB);

	/* The newest block may stay for ten seconds, and then nothing. */
	errno = 41;
	for (unsigned second = 1; second < 10; second++) {
		heap_expire(now + second * CACHE_NS);
		CHECK(second < 2 || kept() == 24 * MIB);
		CHECK(heap_needs_expiry());
	}
	CHECK(memory_resident() < before + 34 * MIB);
	heap_expire(now + 11 * CACHE_NS);
	CHECK(!heap_needs_expiry());
	CHECK_EQ(errno, 41);
	CHECK_EQ(kept(), 0);
	CHECK(memory_resident() < before + 2 * MIB);
	CHECK_EQ(heap_check(), 0);

	/* The next allocation begins as before. */
	heap_free(heap_alloc(MIB, WHOLE(MIB), false, 0));
	heap_expire(hp_now_ns());
	CHECK(heap_needs_expiry());
	CHECK_EQ(kept(), MIB);
}

/* free() itself reads what the cgroup has left, so nothing else need run. */
HEAP_TEST(the_bound_of_a_cgroup)
{
	char *blocks[20];

	machine_cgroup = (struct machine_cgroup){ .limit = 512 * MIB, .left = 400 * MIB };
	heap_set_device(true);
	for (int i = 0; i < 20; i++)
		blocks[i] = heap_alloc(10 * MIB, WHOLE(10 * MIB), false, 0);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(heap_free(blocks[i]), 0);
		CHECK(kept() <= 50 * MIB);
	}
	CHECK(kept() >= 40 * MIB);

	/* Other processes of the group need memory: seen once 16 MiB more would stay. */
	machine_cgroup.left = 80 * MIB;
	for (int i = 10; i < 20; i++)
		CHECK_EQ(heap_free(blocks[i]), 0);
	CHECK(kept() <= 50 * MIB);
	heap_trim(0);
	for (int i = 0; i < 20; i++)
		blocks[i] = heap_alloc(10 * MIB, WHOLE(10 * MIB), false, 0);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(heap_free(blocks[i]), 0);
		CHECK(kept() <= 16 * MIB);
	}
	CHECK(kept() <= 10 * MIB);

	/* A limit that is lowered later counts, and bounds what stays for a second, too. */
	machine_cgroup = (struct machine_cgroup){ .limit = 64 * MIB, .left = 64 * MIB };
	heap_look();
	CHECK(kept() <= 8 * MIB);
	heap_expire(hp_now_ns() + 2 * CACHE_NS);
	heap_expire(hp_now_ns() + 3 * CACHE_NS);
	CHECK(kept() <= 4 * MIB);
}

HEAP_TEST(the_bound_of_a_cgroup_without_a_device)
{
	machine_cgroup = (struct machine_cgroup){ .limit = 128 * MIB, .left = 100 * MIB };
	char *blocks[8];
	for (int i = 0; i < 8; i++)
		blocks[i] = heap_alloc(3 * MIB, WHOLE(3 * MIB), false, 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(heap_free(blocks[i]), 0);
	CHECK(kept() <= 8 * MIB && kept() >= 3 * MIB);
	/* A block above the bound goes at once. */
	CHECK_EQ(heap_free(heap_alloc(64 * MIB, WHOLE(64 * MIB), false, 0)), 0);
	CHECK(kept() <= 8 * MIB);
}

/* Without a device, nothing would see that the shortage has ended. */
HEAP_TEST(a_shortage_of_the_machine_before_the_first_block)
{
	machine_available = 0;
	CHECK_EQ(heap_free(heap_alloc(3 * MIB, WHOLE(3 * MIB), false, 0)), 0);
	CHECK(kept() >= 3 * MIB);
}

HEAP_TEST(pressure_empties_the_cache)
{
	skip_if_sanitized();
	heap_set_device(true);
	char *block = heap_alloc(80 * MIB, WHOLE(80 * MIB), false, 0);
	size_t before = memory_resident();
	memset(block, 1, 80 * MIB);
	CHECK_EQ(heap_free(block), 0);
	heap_set_level(PRESSURE_NONE);
	CHECK_EQ(kept(), 80 * MIB);
	errno = 42;
	heap_set_level(PRESSURE_SOME);
	CHECK_EQ(errno, 42);
	CHECK_EQ(kept(), 0);
	CHECK(memory_resident() < before + 2 * MIB);

	/* A loop is still served from the cache, until the next expiry. */
	heap_free(heap_alloc(MIB, WHOLE(MIB), false, 0));
	CHECK_EQ(kept(), MIB);
	heap_expire(hp_now_ns());
	CHECK(!heap_needs_expiry());
	CHECK_EQ(kept(), 0);

	heap_set_level(PRESSURE_SEVERE);
	heap_free(heap_alloc(MIB, WHOLE(MIB), false, 0));
	CHECK_EQ(kept(), 0);
	heap_set_level(PRESSURE_NONE);
	heap_free(heap_alloc(80 * MIB, WHOLE(80 * MIB), false, 0));
	CHECK_EQ(kept(), 80 * MIB);
}

static void *refuse_to_map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	(void)at, (void)bytes, (void)protection, (void)flags, (void)fd, (void)offset;
	return MAP_FAILED;
}

/* The process has as many mappings as it may have, so the changed pages stay. */
HEAP_TEST(a_block_that_stays_does_not_keep_others)
{
	heap_set_device(true);
	pages_go_by(NULL, refuse_to_map);
	char *altered = heap_alloc(80 * MIB, WHOLE(80 * MIB), false, 0);
	char *other = heap_alloc(40 * MIB, WHOLE(40 * MIB), false, 0);
	CHECK(!word_alter(&range_find(altered)->word, WORD_ALTERED));
	CHECK_EQ(heap_free(altered), 0);
	CHECK_EQ(heap_free(other), 0);
	CHECK_EQ(kept(), 120 * MIB);
	for (int turn = 0; turn < 4; turn++) {
		pass_ms(600);
		heap_expire(hp_now_coarse_ns());
	}
	CHECK_EQ(kept(), 80 * MIB);
	pages_go_by(NULL, NULL);
	pass_ms(600);
	heap_expire(hp_now_coarse_ns());
	CHECK_EQ(kept(), 0);
}

CHECK_MAIN()
