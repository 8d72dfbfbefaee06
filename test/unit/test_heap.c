/*
 * test_heap.c - single blocks of the heap: sizes, alignment, invalid addresses, 2 MiB pages,
 * resizing.
 */
#include "base/counters.h"
#include "base/lock.h"
#include "heap/huge_pages.h"
#include "heap/cache.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/slots.h"
#include "heap/reclaim.h"
#include "heap/resize.h"
#include "heap/site.h"

#include "check.h"
#include "heap_helpers.h"

#include <errno.h>
#include <sys/mman.h>

TEST(every_size)
{
	heap_start();
	for (size_t base = 4 * KIB; base <= GIB; base *= 2) {
		for (int step = 0; step < 40; step++) {
			size_t bytes = base + base / 40 * (size_t)step + (size_t)(step % 3) - 1;
			bool zeroed = step % 2;
			char *block = heap_alloc(bytes, 0, zeroed, 0);

			if (!CHECK(block != NULL))
				return;
			size_t room = heap_usable(block), waste = room - bytes;
			CHECK(room >= bytes);
			CHECK(bytes < 256 * KIB ? waste < 20 * KIB : waste <= bytes / 8);
			CHECK_EQ((uintptr_t)block % 64, 0);
			CHECK(!zeroed || (block[0] == 0 && block[bytes - 1] == 0));
			block[0] = block[bytes - 1] = block[room - 1] = 1;
			CHECK_EQ(live(), range_find(block)->room);
			CHECK_EQ(heap_free(block), 0);
			CHECK_EQ(live(), 0);
		}
	}
	CHECK_EQ(heap_check(), 0);
}

/* Waste is counted from the start of the room: in new, recycled and cut blocks. */
TEST(no_more_than_an_eighth_is_wasted)
{
	heap_start();
	heap_set_device(true);
	for (size_t bytes = 256 * KIB; bytes <= 64 * MIB; bytes += bytes / 97 + 1) {
		for (size_t alignment = 1; alignment <= 16 * KIB; alignment *= 128) {
			char *blocks[4];

			for (int i = 0; i < 4; i++) {
				blocks[i] = heap_alloc(bytes, alignment, false, 0);
				size_t room = range_find(blocks[i])->room;

				if (!CHECK(room - bytes <= bytes / 8))
					printf("# %zu bytes get %zu\n", bytes, room);
			}
			for (int i = 0; i < 4; i++)
				CHECK_EQ(heap_free(blocks[i]), 0);
		}
	}
	CHECK_EQ(heap_check(), 0);
}

TEST(fresh_blocks_begin_differently)
{
	heap_start();
	heap_set_device(true);
	for (size_t bytes = 256 * KIB; bytes <= 64 * MIB; bytes *= 16) {
		char *first = heap_alloc(bytes, 0, false, 0),
		     *second = heap_alloc(bytes, 0, false, 0);

		CHECK((uintptr_t)first % 4096 != (uintptr_t)second % 4096);
		CHECK(heap_usable(first) >= bytes && heap_usable(second) >= bytes);
		/* A cached block keeps its start, where its pages are. */
		CHECK_EQ(heap_free(first), 0);
		CHECK(heap_alloc(bytes, 0, false, 0) == first);
	}
	CHECK_EQ(heap_check(), 0);
}

TEST(every_alignment)
{
	heap_start();
	for (size_t alignment = 1; alignment <= 16 * GIB; alignment *= 2) {
		char *small = heap_alloc(300 * KIB, alignment, false, 0);
		char *large = heap_alloc(5 * MIB, alignment, true, 0);

		CHECK(small != NULL && (uintptr_t)small % alignment == 0);
		CHECK(large != NULL && (uintptr_t)large % alignment == 0);
		small[300 * KIB - 1] = large[5 * MIB - 1] = 1;
		CHECK_EQ(heap_check(), 0);
		if (alignment % 3 == 1)
			CHECK_EQ(heap_free(small), 0);
		CHECK_EQ(heap_free(large), 0);
	}
	CHECK(heap_alloc(300 * KIB, (size_t)1 << 60, false, 0) == NULL);
	CHECK(heap_alloc(300 * KIB, (size_t)1 << 63, false, 0) == NULL);
}

TEST(wrong_addresses_change_nothing)
{
	int local = 0;

	heap_start();
	CHECK_EQ(heap_free(&local), -EINVAL);
	char *block = heap_alloc(MIB, WHOLE, false, 0);
	errno = 77;
	CHECK_EQ(heap_free(block + 1), -EINVAL);
	CHECK_EQ(heap_free(block + 64 * KIB), -EINVAL);
	CHECK_EQ(heap_free(block + MIB), -EINVAL);
	CHECK_EQ(heap_free(block - 1), -EINVAL);
	CHECK_EQ(heap_free(&local), -EINVAL);
	CHECK_EQ(heap_free(NULL), -EINVAL);
	CHECK_EQ(heap_usable(block + 16), 0);
	CHECK_EQ(heap_usable(&local), 0);
	CHECK(!heap_resize(block + 64 * KIB, MIB));
	CHECK(!heap_resize(&local, MIB));
	CHECK_EQ(live(), MIB);

	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(heap_free(block), -EINVAL);
	CHECK_EQ(heap_usable(block), 0);
	CHECK(!heap_resize(block, MIB));
	CHECK_EQ(live(), 0);
	CHECK_EQ(kept(), MIB);

	/* A block whose pages were dropped. */
	char *large = heap_alloc(256 * MIB, WHOLE, false, 0);
	CHECK_EQ(heap_free(large), 0);
	CHECK_EQ(heap_free(large), -EINVAL);
	CHECK_EQ(heap_free(large + 64 * MIB), -EINVAL);
	CHECK_EQ(errno, 77);
	CHECK_EQ(heap_check(), 0);
}

TEST(untouched_memory_costs_nothing)
{
	skip_if_sanitized();
	heap_start();
	size_t before = memory_resident();
	for (int i = 0; i < 8; i++) {
		char *block = heap_alloc(256 * MIB, WHOLE, true, 0);

		for (size_t at = 0; at < 256 * MIB; at += 8 * MIB)
			block[at] = 1;
	}
	/* With 2 MiB pages, 512 MiB would be resident. */
	CHECK(memory_resident() < before + 6 * MIB);
}

/* True if the mapping at `address` has advice for 2 MiB pages. */
static bool advised_huge(const void *address)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	bool inside = false, advised = false;
	unsigned long from, to;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = (uintptr_t)address >= from && (uintptr_t)address < to;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			advised = strstr(line, " hg") != NULL;
	}
	if (file != NULL)
		fclose(file);
	return advised;
}

static bool is_huge(const void *memory)
{
	return range_find(memory)->huge;
}

/* Marks sites whose blocks were written and copied as a whole. */
static void prove(uint32_t site)
{
	site_note_dense(site, true);
}

TEST(huge_pages_only_with_a_device_and_from_2_mib)
{
	heap_start();
	prove(5);
	char *plain = heap_alloc(8 * MIB, WHOLE, false, 5);
	CHECK(!is_huge(plain));
	CHECK(!advised_huge(plain));
	CHECK_EQ(heap_free(plain), 0);

	heap_set_device(true);
	/* The recycled block was touched before, so it stays without 2 MiB pages. */
	CHECK(heap_alloc(8 * MIB, WHOLE, false, 5) == plain);
	CHECK(!is_huge(plain));
	CHECK(!advised_huge(plain));

	char *small = heap_alloc(MIB, WHOLE, false, 5),
	     *large = heap_alloc(8 * MIB, WHOLE, false, 5);
	CHECK(!is_huge(small));
	CHECK(is_huge(large));
	CHECK(advised_huge(large));
	CHECK(advised_huge(large + 8 * MIB - 1));
	CHECK(!advised_huge(plain));
	/* It keeps its 2 MiB pages in the cache. */
	CHECK_EQ(heap_free(large), 0);
	CHECK(heap_alloc(8 * MIB, WHOLE, false, 5) == large);
	CHECK(is_huge(large));
	/* An allocation of an unknown site. */
	CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE, false, 0)));
}

/* For an unknown site, one block is on trial. */
TEST(one_block_is_on_trial)
{
	heap_start();
	heap_set_device(true);
	char *first = heap_alloc(8 * MIB, WHOLE, false, 5);
	CHECK(is_huge(first) && advised_huge(first));
	for (int i = 0; i < 10; i++)
		CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE, false, 5)));
	CHECK(is_huge(heap_alloc(8 * MIB, WHOLE, false, 7)));

	/* A loop gets the same block again, and nobody else gets it in between. */
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(heap_free(first), 0);
		CHECK(heap_alloc(8 * MIB, WHOLE, false, 5) == first && is_huge(first));
		CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE, false, 5)));
	}
	/* A small copy says nothing; a copy of a whole unwritten block says no. */
	huge_before_copy(range_find(first), true, MIB);
	CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE, false, 5)));
	huge_before_copy(range_find(first), true, 8 * MIB);
	CHECK_EQ(heap_free(first), 0);
	CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE, false, 5)));

	CHECK(!is_huge(heap_alloc(257 * MIB, WHOLE, false, 9)));
	/* The block fits; only its room is larger. */
	first = heap_alloc(256 * MIB, 0, false, 9);
	CHECK(range_find(first)->room > 256 * MIB && is_huge(first));
	CHECK_EQ(heap_check(), 0);
}

/* As a program that fills all its arrays before it copies any. */
TEST(what_is_written_all_over_passes_its_trial)
{
	skip_if_sanitized();
	heap_start();
	heap_set_device(true);
	/* Sizes that leave a partial 2 MiB page, and a size that does not. */
	static const size_t sizes[] = { 3000000, 9 * MIB + 100 * KIB, 64 * MIB };

	for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *first = heap_alloc(sizes[i], 0, false, 50 + i);
		CHECK(is_huge(first) && advised_huge(first));
		CHECK(!is_huge(heap_alloc(sizes[i], 0, false, 50 + i)));
		/*
		 * One page in sixteen is written, as far as 2 MiB pages reach: all memory is
		 * resident.
		 */
		for (size_t at = 0; at < sizes[i]; at += 64 * KIB)
			first[at] = 1;
		CHECK(!is_huge(heap_alloc(sizes[i], 0, false, 50 + i)));
		memset(first, 1, sizes[i]);
		CHECK(is_huge(heap_alloc(sizes[i], 0, false, 50 + i)));
		CHECK(is_huge(heap_alloc(sizes[i], 0, false, 50 + i)));
		CHECK(!is_huge(heap_alloc(sizes[i], 0, false, 0)));
	}
	CHECK_EQ(heap_check(), 0);
}

/* Writes of another site are no sign, nor is the part by which a block has grown. */
TEST(a_probe_is_of_its_site_and_room)
{
	heap_start();
	heap_set_device(true);
	char *first = heap_alloc(64 * MIB, 0, false, 5);
	memset(first, 1, 64 * MIB);
	CHECK(range_find(first)->probe != 0);
	CHECK_EQ(heap_free(first), 0);
	CHECK(heap_alloc(64 * MIB, 0, false, 7) == first && is_huge(first));
	CHECK(!is_huge(heap_alloc(64 * MIB, 0, false, 7)));
	CHECK_EQ(heap_free(first), 0);

	first = heap_alloc(65 * MIB, 0, false, 9);
	CHECK(is_huge(first));
	CHECK(heap_resize(first, 66 * MIB) || heap_resize(first, 32 * MIB));
	CHECK_EQ(range_find(first)->probe, 0);
	CHECK_EQ(heap_check(), 0);
}

TEST(copies_tell_what_pays)
{
	heap_start();
	heap_set_device(true);
	/* Written completely, and copied. */
	char *first = heap_alloc(300 * MIB, 0, false, 5);
	CHECK(!is_huge(first));
	memset(first, 1, 300 * MIB);
	huge_before_copy(range_find(first), true, 300 * MIB);
	CHECK(!is_huge(first) && !advised_huge(first));
	char *second = heap_alloc(300 * MIB, 0, false, 5);
	CHECK(is_huge(second) && advised_huge(second));
	/* The first copy has decided; later ones are not examined. */
	range_find(first)->copied_ns = 1;
	madvise(first + MIB, 290 * MIB, MADV_DONTNEED);
	huge_before_copy(range_find(first), true, 300 * MIB);
	CHECK(is_huge(heap_alloc(300 * MIB, 0, false, 5)));
	/* When it is freed, its pages are dropped for better ones, so they are not cached. */
	size_t before = kept();
	CHECK_EQ(heap_free(first), 0);
	CHECK_EQ(kept(), before);

	/* The copy itself will write all of it. */
	first = heap_alloc(300 * MIB, 0, false, 7);
	huge_before_copy(range_find(first), false, MIB);
	CHECK(!is_huge(first));
	huge_before_copy(range_find(first), false, 290 * MIB);
	CHECK(is_huge(first) && advised_huge(first) && advised_huge(first + 299 * MIB));
	CHECK(is_huge(heap_alloc(300 * MIB, 0, false, 7)));
	/* Too late: some of its pages exist. */
	first = heap_alloc(300 * MIB, 0, false, 9);
	memset(first, 1, 300 * MIB);
	huge_before_copy(range_find(first), false, 300 * MIB);
	CHECK(!is_huge(first));
	CHECK_EQ(heap_check(), 0);
}

TEST(sparse_blocks_stay_small_during_a_device)
{
	skip_if_sanitized();
	heap_start();
	heap_set_device(true);
	size_t before = memory_resident();
	for (size_t i = 0; i < 128; i++) {
		size_t step = i % 2 ? 64 * KIB : 2 * MIB;
		char *block = heap_alloc(8 * MIB, 0, false, 5);

		for (size_t at = 0; at < 8 * MIB; at += step)
			block[at] = 1;
	}
	/* 32 MiB and a quarter are touched; one block is on trial. */
	CHECK(memory_resident() < before + 32 * MIB + 8 * MIB + 3 * MIB);
}

TEST(huge_pages_are_rationed)
{
	size_t ram = limits_ram(), left = limits_cgroup_left("");
	size_t most = (left < ram ? left : ram) / 16, count = 0, sum = 0;
	size_t on_trial = most / 4 > 257 * MIB ? most / 4 : 256 * MIB + MIB / 2;
	static struct block *blocks[4096];

	heap_start();
	heap_set_device(true);
	/* Many new sites together get a quarter of the memory that known sites may have. */
	for (uint32_t site = 1000; site < 5000; site++) {
		struct block *block = range_find(heap_alloc(32 * MIB, WHOLE, false, site));

		if (!block->huge)
			break;
		sum += block->room;
	}
	CHECK(sum <= on_trial && sum + 48 * MIB > on_trial);
	prove(5);
	for (; count < 4096; count++) {
		blocks[count] = range_find(heap_alloc(128 * MIB, WHOLE, false, 5));
		if (!blocks[count]->huge)
			break;
		sum += blocks[count]->room;
	}
	/* The available memory changes during the test. */
	CHECK(sum <= most && sum + 192 * MIB > most);
	/* Blocks that were copied do not count. */
	pass_ms(30);
	CHECK(!is_huge(heap_alloc(128 * MIB, WHOLE, false, 5)));
	blocks[0]->copied_ns = 1;
	pass_ms(30);
	CHECK(is_huge(heap_alloc(128 * MIB, WHOLE, false, 5)));
	CHECK(!is_huge(heap_alloc(128 * MIB, WHOLE, false, 5)));
	CHECK_EQ(heap_check(), 0);
}

/* The kernel remembers advice by address. */
TEST(no_huge_pages_where_others_had_them)
{
	heap_start();
	heap_set_device(true);
	prove(5);
	char *dense[2];
	for (int i = 0; i < 2; i++)
		dense[i] = heap_alloc(200 * MIB, WHOLE, false, 5);
	CHECK(dense[0] + 200 * MIB == dense[1]);
	CHECK(advised_huge(dense[0]) && advised_huge(dense[1]));
	for (int i = 0; i < 2; i++)
		CHECK_EQ(heap_free(dense[i]), 0);

	/* Neither while they are cached, */
	hp_lock(HP_LOCK_heap);
	cache_put_all(slots_drain(SLOTS_IDLE, UINT64_MAX, hp_now_ns()));
	hp_unlock(HP_LOCK_heap);
	CHECK_EQ(kept(), 400 * MIB);
	char *other = heap_alloc(300 * MIB, WHOLE, false, 0);
	CHECK(!advised_huge(other) && !advised_huge(other + 250 * MIB));
	CHECK_EQ(heap_free(other), 0);

	/* nor after they were released. */
	heap_set_level(PRESSURE_SEVERE);
	CHECK(!advised_huge(dense[0]) && !advised_huge(dense[1]));
	other = heap_alloc(300 * MIB, WHOLE, false, 0);
	CHECK(other == dense[0]);
	CHECK(!advised_huge(other) && !advised_huge(other + 250 * MIB));
	CHECK_EQ(heap_check(), 0);
}

TEST(resizes_in_place)
{
	heap_start();
	char *block = heap_alloc(4 * MIB, WHOLE, false, 0);
	memset(block, 7, 4 * MIB);

	/* The part that was cut off is cached, and the block can grow into it again. */
	CHECK(heap_resize(block, MIB));
	CHECK_EQ(heap_usable(block), MIB);
	CHECK_EQ(live(), MIB);
	CHECK_EQ(kept(), 3 * MIB);
	CHECK_EQ(range_find(block)->size, MIB);
	CHECK(range_find(block + MIB) == NULL);
	/* A sixteenth is added. */
	CHECK(heap_resize(block, 2 * MIB));
	CHECK_EQ(kept(), 2 * MIB - 128 * KIB);
	CHECK_EQ(heap_check(), 0);
	CHECK(heap_resize(block, MIB));
	heap_set_level(PRESSURE_SEVERE);
	heap_set_level(PRESSURE_NONE);
	CHECK(all_are(block, MIB, 7));

	/* Free room follows: the block grows, and the new part is zero. */
	CHECK(heap_resize(block, 64 * MIB));
	CHECK_EQ(live(), heap_usable(block));
	CHECK(heap_usable(block) >= 64 * MIB);
	CHECK(all_are(block, MIB, 7));
	CHECK(all_are(block + MIB, 63 * MIB, 0));
	CHECK(range_find(block + 64 * MIB - 1) == range_find(block));

	/* Cached and free memory after the block are used together. */
	memset(block, 8, 64 * MIB);
	CHECK(heap_resize(block, 4 * MIB));
	CHECK(kept() > 0);
	CHECK(heap_resize(block, 80 * MIB));
	CHECK_EQ(kept(), 0);
	CHECK(all_are(block, 4 * MIB, 8));
	CHECK(all_are(block + 79 * MIB, MIB, 0));
	CHECK_EQ(heap_check(), 0);
	CHECK(heap_resize(block, 64 * MIB));
	heap_set_level(PRESSURE_SEVERE);
	heap_set_level(PRESSURE_NONE);

	/* A neighbor prevents growth. */
	char *next = heap_alloc(2 * MIB, WHOLE, false, 0);
	CHECK(next == block + heap_usable(block));
	size_t before = heap_usable(block);
	CHECK(!heap_resize(block, 65 * MIB));
	CHECK_EQ(heap_usable(block), before);
	CHECK_EQ(heap_check(), 0);
	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(heap_free(next), 0);
	CHECK_EQ(heap_check(), 0);
}

TEST(nothing_before_the_start_and_nothing_too_large)
{
	errno = 55;
	CHECK(heap_alloc(MIB, WHOLE, false, 0) == NULL);
	heap_start();
	CHECK(heap_alloc(limits_ram_and_swap() + 1, WHOLE, false, 0) == NULL);
	CHECK(heap_alloc(SIZE_MAX, WHOLE, true, 0) == NULL);
	CHECK(heap_alloc(SIZE_MAX - 4096, 4096, true, 0) == NULL);
	CHECK_EQ(hp_count_read(heap_fallbacks), 3);
	CHECK(heap_alloc(1, WHOLE, true, 0) != NULL);
	CHECK_EQ(errno, 55);
}

TEST(locked_memory_goes_back_too)
{
	skip_if_sanitized();
	heap_start();
	char *block = heap_alloc(33 * MIB, WHOLE, false, 0);
	if (mlock(block, MIB) != 0)
		CHECK_SKIP("mlock is not permitted");
	memset(block, 1, 33 * MIB);
	size_t full = memory_resident();
	CHECK_EQ(heap_free(block), 0);
	heap_set_level(PRESSURE_SEVERE);
	CHECK(memory_resident() + 30 * MIB < full);
	CHECK_EQ(heap_check(), 0);
	char *again = heap_alloc(33 * MIB, WHOLE, true, 0);
	CHECK(all_are(again, 33 * MIB, 0));
}

/* True if the mapping at `address` has this flag. */
static bool has_flag(const void *address, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	bool inside = false, has = false;
	unsigned long from, to;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
			inside = (uintptr_t)address >= from && (uintptr_t)address < to;
		else if (inside && strncmp(line, "VmFlags:", 8) == 0)
			has = strstr(line, flag) != NULL;
	}
	if (file != NULL)
		fclose(file);
	return has;
}

/* Returns the bytes of private memory that a core dump of this process would include. */
static size_t dumped(void)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512];
	size_t bytes = 0, room = 0;
	unsigned long from, to;
	char modes[8];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, modes) == 3)
			room = strchr(modes, 'p') != NULL ? to - from : 0;
		else if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " dd") == NULL)
			bytes += room;
	}
	if (file != NULL)
		fclose(file);
	return bytes;
}

TEST(core_dumps_have_what_was_handed_out)
{
	skip_if_sanitized();
	heap_start();
	size_t before = dumped();
	char *block = heap_alloc(40 * MIB, 0, false, 0);
	memset(block, 1, 40 * MIB);
	CHECK(!has_flag(block, " dd") && !has_flag(block + 40 * MIB - 1, " dd"));
	CHECK(has_flag((char *)heap_base + GIB, " dd"));
	CHECK(dumped() >= before + 40 * MIB);
	CHECK(dumped() < before + 80 * MIB);
}

CHECK_MAIN()
