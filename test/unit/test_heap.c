/*
 * test_heap.c - single blocks of the heap: sizes, alignment, invalid addresses, 2 MiB pages,
 * resizing.
 */
#include "base/counters.h"
#include "heap/huge_pages.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/reclaim.h"

#include "check.h"
#include "heap_helpers.h"
#include "random.h"

#include <errno.h>
#include <sys/mman.h>

HEAP_TEST(every_size)
{
	for (size_t base = 4 * KIB; base <= GIB; base *= 2) {
		for (int step = 0; step < 40; step++) {
			size_t bytes = base + base / 40 * (size_t)step + (size_t)(step % 3) - 1;
			bool zeroed = step % 2;
			char *block = heap_alloc(bytes, 0, zeroed, 0);

			if (!CHECK(block != NULL))
				return;
			size_t room = heap_usable(block), waste = room - bytes;
			CHECK(room >= bytes);
			CHECK(waste < 4 * KIB);
			CHECK_EQ((uintptr_t)block % 64, 0);
			CHECK(!zeroed || (block[0] == 0 && block[bytes - 1] == 0));
			block[0] = block[bytes - 1] = block[room - 1] = 1;
			CHECK_EQ(live(), range_find(block)->room);
			CHECK_EQ(heap_free(block), 0);
			CHECK_EQ(live(), 0);
		}
	}
}

/* Waste is counted from the start of the addresses, in blocks of every class. */
TEST(no_more_than_an_eighth_is_wasted)
{
	unsigned before = 0;

	for (size_t bytes = 32 * KIB; bytes < 64 * GIB; bytes += bytes / 97 + 1) {
		unsigned size_class = map_class(bytes);
		size_t all = map_class_bytes(size_class);

		CHECK(all >= bytes && all - bytes <= bytes / 8);
		CHECK(size_class == before || size_class == before + 1);
		CHECK_EQ(map_class(all), size_class);
		CHECK_EQ(map_class(all + 1), size_class + 1);
		before = size_class;
	}
	for (size_t bytes = 256 * KIB; bytes <= 64 * MIB; bytes += bytes / 97 + 1) {
		for (size_t alignment = 1; alignment <= 4 * KIB; alignment *= 64) {
			char *block = heap_alloc(bytes, alignment, false, 0);

			CHECK(range_find(block)->room - bytes <= bytes / 8);
			CHECK_EQ(heap_free(block), 0);
		}
	}
	CHECK_EQ(heap_check(), 0);
}

HEAP_TEST(fresh_blocks_begin_differently)
{
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
}

HEAP_TEST(every_alignment)
{
	for (size_t alignment = 1; alignment <= 2 * MIB; alignment *= 2) {
		char *small = heap_alloc(300 * KIB, alignment, false, 0);
		char *large = heap_alloc(5 * MIB, alignment, true, 0);

		CHECK(alignment <= 4 * KIB ? (uintptr_t)small % alignment == 0 : small == NULL);
		CHECK(large != NULL && (uintptr_t)large % alignment == 0);
		large[5 * MIB - 1] = 1;
		CHECK_EQ(heap_check(), 0);
		if (small != NULL) {
			small[300 * KIB - 1] = 1;
			CHECK_EQ(heap_free(small), 0);
		}
		CHECK_EQ(heap_free(large), 0);
	}
	CHECK(heap_alloc(5 * MIB, 4 * MIB, false, 0) == NULL);
	CHECK(heap_alloc(5 * MIB, (size_t)1 << 60, false, 0) == NULL);
	CHECK(heap_alloc(5 * MIB, (size_t)1 << 63, false, 0) == NULL);
}

/* As many odd sizes as a long run has; no block is in use for long. */
HEAP_TEST(many_sizes_leave_addresses)
{
	static char *blocks[64];
	uint64_t state = 1;

	for (int i = 0; i < 400000; i++) {
		char **block = &blocks[random_below(&state, 64)];
		size_t base = 64 * KIB << random_below(&state, 14);

		if (*block != NULL && !CHECK_EQ(heap_free(*block), 0))
			return;
		*block = heap_alloc(base + random_below(&state, base), 0, false, 0);
		if (!CHECK(*block != NULL))
			return;
	}
}

/* Nine times its final size passes through the heap, which must not have used up its addresses. */
TEST(a_vector_grows_to_all_memory_again_and_again)
{
	size_t most = limits_ram(false) / 2;

	for (int turn = 0; turn < 8; turn++) {
		char *vector = heap_alloc(64 * KIB, 0, false, 0);

		for (size_t bytes = 72 * KIB; bytes < most; bytes += bytes / 8) {
			char *longer = heap_alloc(bytes, 0, false, 0);

			if (!CHECK(longer != NULL))
				return;
			longer[0] = 1;
			CHECK_EQ(heap_free(vector), 0);
			vector = longer;
		}
		CHECK_EQ(heap_free(vector), 0);
	}
	CHECK_EQ(heap_check(), 0);
}

HEAP_TEST(wrong_addresses_change_nothing)
{
	int local = 0;

	CHECK_EQ(heap_free(&local), -EINVAL);
	char *block = heap_alloc(MIB, WHOLE(MIB), false, 0);
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
	char *large = heap_alloc(256 * MIB, WHOLE(256 * MIB), false, 0);
	CHECK_EQ(heap_free(large), 0);
	CHECK_EQ(heap_free(large), -EINVAL);
	CHECK_EQ(heap_free(large + 64 * MIB), -EINVAL);
	CHECK_EQ(errno, 77);
}

/* Returns the bytes of the private mapping at `address`, or of all, if its flags have this text. */
static size_t flagged(const void *address, const char *flag)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	char line[512], modes[8] = "";
	size_t bytes = 0, room = 0;
	unsigned long from, to, at = (uintptr_t)address;

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "%lx-%lx %7s", &from, &to, modes) == 3)
			room = address == NULL || (at >= from && at < to) ? to - from : 0;
		else if (strncmp(line, "VmFlags:", 8) == 0 && strstr(line, flag) != NULL)
			bytes += modes[3] == 'p' ? room : 0;
	}
	if (file != NULL)
		fclose(file);
	return bytes;
}

/* True if the mapping at `address` has advice for 2 MiB pages. */
static bool advised_huge(const void *address)
{
	return flagged(address, " hg") != 0;
}

/* True if it has advice against them. */
static bool advised_small(const void *address)
{
	return flagged(address, " nh") != 0;
}

static bool is_huge(const void *memory)
{
	return range_find(memory)->huge;
}

/* Marks sites whose blocks were written and copied as a whole. */
static void prove(uint32_t site)
{
	huge_note_site(site, true);
}

HEAP_TEST(huge_pages_only_with_a_device_and_from_2_mib)
{
	prove(5);
	char *plain = heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 5);
	CHECK(!is_huge(plain));
	CHECK(!advised_huge(plain));
	CHECK_EQ(heap_free(plain), 0);

	heap_set_device(true);
	/* The recycled block was touched before, so it stays without 2 MiB pages. */
	CHECK(heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 5) == plain);
	CHECK(!is_huge(plain));
	CHECK(!advised_huge(plain));

	char *small = heap_alloc(MIB, WHOLE(MIB), false, 5),
	     *large = heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 5);
	CHECK(!is_huge(small));
	CHECK(is_huge(large));
	CHECK(advised_huge(large));
	CHECK(advised_huge(large + 8 * MIB - 1));
	CHECK(!advised_huge(plain));
	/* It keeps its 2 MiB pages in the cache. */
	CHECK_EQ(heap_free(large), 0);
	CHECK(heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 5) == large);
	CHECK(is_huge(large));
	/* An allocation of an unknown site. */
	CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 0)));
}

/* A site gets them once a block of it was copied whole, and all of it was written. */
HEAP_TEST(a_site_whose_blocks_are_copied_whole)
{
	heap_set_device(true);
	char *first = heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 20);
	CHECK(!is_huge(first));

	/* A small copy says nothing; a copy of a whole unwritten block says no. */
	huge_note_site(20, true);
	huge_before_copy(range_find(first), true, MIB);
	CHECK(huge_site_is_dense(20));
	huge_before_copy(range_find(first), true, 8 * MIB);
	CHECK(!huge_site_is_dense(20));
	CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 20)));
	/* A whole copy of another block of the site says yes, to calloc() as well. */
	first = heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 20);
	memset(first, 1, 8 * MIB);
	huge_before_copy(range_find(first), true, 8 * MIB);
	char *next = heap_alloc(8 * MIB, WHOLE(8 * MIB), true, 20);
	CHECK(is_huge(next));
	/* It goes back to its site only. */
	huge_note_site(20, false);
	CHECK_EQ(heap_free(next), 0);
	CHECK(!is_huge(heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 0)));
	CHECK(heap_alloc(8 * MIB, WHOLE(8 * MIB), false, 20) == next);
	CHECK_EQ(heap_check(), 0);
}

/* calloc() serves large tables with few entries, new and recycled. */
HEAP_TEST(a_sparse_calloc_stays_small)
{
	skip_if_sanitized();
	heap_set_device(true);
	size_t before = memory_resident();
	for (int turn = 0; turn < 2; turn++) {
		char *blocks[8];

		for (uint32_t i = 0; i < 8; i++) {
			blocks[i] = heap_alloc(64 * MIB, 0, true, 4 * i + 1001);
			for (size_t at = 0; at < 64 * MIB; at += 2 * MIB) {
				CHECK_EQ(blocks[i][at], 0);
				blocks[i][at] = 1;
			}
		}
		CHECK(memory_resident() < before + 8 * MIB);
		for (int i = 0; i < 8; i++)
			CHECK_EQ(heap_free(blocks[i]), 0);
	}
}

HEAP_TEST(copies_tell_what_pays)
{
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
}

HEAP_TEST(sparse_blocks_stay_small_during_a_device)
{
	skip_if_sanitized();
	heap_set_device(true);
	size_t before = memory_resident();
	for (size_t i = 0; i < 128; i++) {
		size_t step = i % 2 ? 64 * KIB : 2 * MIB;
		char *block = heap_alloc(8 * MIB, 0, false, 5);

		for (size_t at = 0; at < 8 * MIB; at += step)
			block[at] = 1;
	}
	/* 32 MiB and a quarter are touched. */
	CHECK(memory_resident() < before + 32 * MIB + 3 * MIB);
}

/* The kernel remembers advice by address. */
HEAP_TEST(no_huge_pages_where_others_had_them)
{
	const size_t bytes = 208 * MIB;

	heap_set_device(true);
	prove(20);
	char *dense = heap_alloc(bytes, WHOLE(bytes), false, 20);
	CHECK(advised_huge(dense) && advised_huge(dense + bytes - 1));
	memset(dense, 1, bytes);
	CHECK_EQ(heap_free(dense), 0);

	/* Neither while they are cached, */
	CHECK_EQ(kept(), bytes);
	char *other = heap_alloc(bytes, WHOLE(bytes), false, 0);
	CHECK(other != dense && !advised_huge(other) && !advised_huge(other + bytes - 1));

	/* nor after they were released. */
	heap_set_level(PRESSURE_SEVERE);
	CHECK(!advised_huge(dense));
	CHECK(heap_alloc(bytes, WHOLE(bytes), false, 0) == dense);
	CHECK(!advised_huge(dense) && !advised_huge(dense + bytes - 1));
}

HEAP_TEST(resizes_in_place)
{
	skip_if_sanitized();
	char *block = heap_alloc(33 * MIB, WHOLE(33 * MIB), false, 0);
	struct block *found = range_find(block);
	memset(block, 7, 33 * MIB);
	size_t full = memory_resident();

	/* Up to the end of its class, 36 MiB, and down to an eighth. */
	CHECK(heap_resize(block, 36 * MIB));
	CHECK_EQ(heap_usable(block), 36 * MIB);
	CHECK_EQ(live(), 36 * MIB);
	CHECK(all_are(block, 33 * MIB, 7) && all_are(block + 33 * MIB, 3 * MIB, 0));
	CHECK(!heap_resize(block, 36 * MIB + 1));
	CHECK(heap_resize(block, 20 * MIB));
	CHECK_EQ(found->size, 20 * MIB);
	CHECK_EQ(heap_usable(block), 20 * MIB);
	/* The pages above went back. */
	CHECK(memory_resident() < full - 12 * MIB);
	CHECK(range_find(block + 20 * MIB) == NULL);
	CHECK(!heap_resize(block, 2 * MIB));
	CHECK(heap_resize(block, 30 * MIB));
	CHECK(all_are(block, 20 * MIB, 7) && all_are(block + 20 * MIB, 10 * MIB, 0));

	/* A little less or more changes nothing. */
	CHECK(heap_resize(block, 29 * MIB));
	CHECK_EQ(heap_usable(block), 30 * MIB);
	CHECK_EQ(found->size, 29 * MIB);
	CHECK_EQ(heap_free(block), 0);
}

TEST(nothing_too_large)
{
	errno = 55;
	CHECK(heap_alloc(limits_ram(true) + 1, WHOLE(limits_ram(true) + 1), false, 0) == NULL);
	CHECK(heap_alloc(SIZE_MAX, WHOLE(SIZE_MAX), true, 0) == NULL);
	CHECK(heap_alloc(SIZE_MAX - 4096, 4096, true, 0) == NULL);
	CHECK_EQ(hp_count_read(heap_fallbacks), 3);
	CHECK(heap_alloc(1, WHOLE(1), true, 0) != NULL);
	CHECK_EQ(errno, 55);
}

HEAP_TEST(locked_memory_goes_back_too)
{
	skip_if_sanitized();
	char *block = heap_alloc(33 * MIB, WHOLE(33 * MIB), false, 0);
	if (mlock(block, MIB) != 0)
		CHECK_SKIP("mlock is not permitted");
	memset(block, 1, 33 * MIB);
	size_t full = memory_resident();
	CHECK_EQ(heap_free(block), 0);
	heap_set_level(PRESSURE_SEVERE);
	CHECK(memory_resident() + 30 * MIB < full);
	CHECK_EQ(heap_check(), 0);
	char *again = heap_alloc(33 * MIB, WHOLE(33 * MIB), true, 0);
	CHECK(all_are(again, 33 * MIB, 0));
}

static size_t page_table_kib(void)
{
	return memory_status_kib("VmPTE:");
}

HEAP_TEST(page_tables_go_with_the_pages)
{
	skip_if_sanitized();
	char *block = heap_alloc(64 * MIB, WHOLE(64 * MIB), false, 0);
	size_t before = page_table_kib();
	for (size_t at = 0; at < 64 * MIB; at += 2 * MIB)
		block[at] = 1;
	CHECK(page_table_kib() >= before + 100);
	CHECK_EQ(heap_free(block), 0);
	heap_trim(0);
	/* A few are those of the tables of blocks, and of the libraries. */
	CHECK(page_table_kib() <= before + 32);
	CHECK_EQ(heap_check(), 0);
}

/* With the kernel's mode "always" the addresses behind a block would become memory with it. */
TEST(huge_pages_where_the_kernel_uses_them)
{
	const size_t bytes = 2200 * KIB;

	huge_everywhere = true;
	char *large = heap_alloc(bytes, WHOLE(bytes), false, 0);
	char *small = heap_alloc(MIB, WHOLE(MIB), false, 0);
	CHECK(!advised_small(large) && advised_small(large + 4 * MIB - 1));
	CHECK(advised_small(small) && advised_small(small + MIB - 1));
	memset(large, 1, bytes);
	CHECK_EQ(heap_free(large), 0);
	heap_trim(0);
	char *next = heap_alloc(bytes, WHOLE(bytes), true, 0);
	CHECK(next == large && advised_huge(next) && advised_small(next + 4 * MIB - 1));

	/* A block that grows is asked for once it is large enough. */
	memset(small, 1, MIB);
	char *vector = heap_move(small, MIB + 100 * KIB);
	CHECK(advised_small(vector + MIB));
	CHECK(heap_resize(vector, 8 * MIB));
	CHECK(advised_huge(vector + 8 * MIB - 1) && advised_small(vector + 12 * MIB));
	CHECK_EQ(heap_check(), 0);
}

/* Returns the bytes of private memory that a core dump of this process would include. */
static size_t dumped(void)
{
	return flagged(NULL, "VmFlags:") - flagged(NULL, " dd");
}

HEAP_TEST(core_dumps_have_what_was_handed_out)
{
	skip_if_sanitized();
	size_t before = dumped();
	char *block = heap_alloc(40 * MIB, 0, false, 0);
	memset(block, 1, 40 * MIB);
	CHECK(flagged(block, " dd") == 0 && flagged(block + 40 * MIB - 1, " dd") == 0);
	CHECK(flagged((char *)heap_base + GIB, " dd") != 0);
	CHECK(dumped() >= before + 40 * MIB);
	CHECK(dumped() < before + 80 * MIB);
}

CHECK_MAIN()
