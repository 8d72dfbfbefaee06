/*
 * test_heap.c - blocks one by one: sizes, alignment, contents, reuse, limits, memory given back.
 */
#include "host/heap.h"
#include "base/counters.h"
#include "host/limits.h"
#include "host/range.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>

/* An alignment that leaves the heap no choice of where a block begins. */
#define WHOLE ((size_t)64 << 10)
#define KIB   ((size_t)1 << 10)
#define MIB   ((size_t)1 << 20)
#define GIB   ((size_t)1 << 30)

static bool all_are(const char *memory, size_t bytes, char value)
{
	return bytes == 0 || (memory[0] == value && memcmp(memory, memory + 1, bytes - 1) == 0);
}

/* Resident memory of this process. */
static size_t resident(void)
{
	char text[128] = "";
	int fd = open("/proc/self/statm", O_RDONLY);
	ssize_t length = read(fd, text, sizeof(text) - 1);

	close(fd);
	return length > 0 ? strtoul(strchr(text, ' '), NULL, 10) * 4096 : 0;
}

/* A sanitizer's own memory would drown what is measured, and needs what is rationed. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED (__has_feature(thread_sanitizer) || __has_feature(address_sanitizer))
#else
#define SANITIZED 0
#endif

static void skip_if_sanitized(void)
{
	if (SANITIZED)
		CHECK_SKIP("a sanitizer needs memory of its own");
}

static size_t kept(void)
{
	size_t live, bytes;

	heap_stats(&live, &bytes);
	return bytes;
}

static size_t live(void)
{
	size_t bytes, other;

	heap_stats(&bytes, &other);
	return bytes;
}

static void wait_ms(unsigned ms)
{
	usleep(ms * 1000);
}

TEST(every_size)
{
	heap_start();
	for (size_t base = 4 * KIB; base <= GIB; base *= 2) {
		for (int step = 0; step < 40; step++) {
			size_t bytes = base + base / 40 * (size_t)step + (size_t)(step % 3) - 1;
			bool zeroed = step % 2;
			char *block = heap_alloc(bytes, 0, zeroed);

			if (!CHECK(block != NULL))
				return;
			size_t room = heap_usable(block), waste = room - bytes;
			CHECK(room >= bytes);
			CHECK(waste < 68 * KIB || waste <= bytes / 8);
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

TEST(fresh_blocks_begin_differently)
{
	heap_start();
	heap_set_device();
	for (size_t bytes = 256 * KIB; bytes <= 64 * MIB; bytes *= 16) {
		char *first = heap_alloc(bytes, 0, false), *second = heap_alloc(bytes, 0, false);

		CHECK((uintptr_t)first % 4096 != (uintptr_t)second % 4096);
		CHECK(heap_usable(first) >= bytes && heap_usable(second) >= bytes);
		/* One that is kept begins where it began: its pages are there. */
		CHECK_EQ(heap_free(first), 0);
		CHECK(heap_alloc(bytes, 0, false) == first);
	}
	CHECK_EQ(heap_check(), 0);
}

TEST(every_alignment)
{
	heap_start();
	for (size_t alignment = 1; alignment <= 16 * GIB; alignment *= 2) {
		char *small = heap_alloc(300 * KIB, alignment, false);
		char *large = heap_alloc(5 * MIB, alignment, true);

		CHECK(small != NULL && (uintptr_t)small % alignment == 0);
		CHECK(large != NULL && (uintptr_t)large % alignment == 0);
		small[300 * KIB - 1] = large[5 * MIB - 1] = 1;
		CHECK_EQ(heap_check(), 0);
		if (alignment % 3 == 1)
			CHECK_EQ(heap_free(small), 0);
		CHECK_EQ(heap_free(large), 0);
	}
	CHECK(heap_alloc(300 * KIB, (size_t)1 << 60, false) == NULL);
	CHECK(heap_alloc(300 * KIB, (size_t)1 << 63, false) == NULL);
}

TEST(kept_blocks_keep_their_alignment)
{
	heap_start();
	char *spacer = heap_alloc(64 * KIB, WHOLE, false),
	     *odd = heap_alloc(512 * KIB, WHOLE, false);

	CHECK((uintptr_t)odd % MIB != 0);
	CHECK_EQ(heap_free(odd), 0);
	char *even = heap_alloc(512 * KIB, MIB, false);
	CHECK_EQ((uintptr_t)even % MIB, 0);
	CHECK(heap_alloc(512 * KIB, WHOLE, false) == odd);
	CHECK_EQ(heap_free(spacer), 0);
}

TEST(wrong_addresses_change_nothing)
{
	int local = 0;

	heap_start();
	CHECK_EQ(heap_free(&local), -EINVAL);
	char *block = heap_alloc(MIB, WHOLE, false);
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

	/* One whose pages are gone. */
	char *large = heap_alloc(256 * MIB, WHOLE, false);
	CHECK_EQ(heap_free(large), 0);
	CHECK_EQ(heap_free(large), -EINVAL);
	CHECK_EQ(heap_free(large + 64 * MIB), -EINVAL);
	CHECK_EQ(errno, 77);
	CHECK_EQ(heap_check(), 0);
}

TEST(zeroed_after_every_kind_of_recycling)
{
	heap_start();
	for (size_t bytes = 256 * KIB; bytes <= 128 * MIB; bytes *= 2) {
		char *block = heap_alloc(bytes, WHOLE, false);

		memset(block, 0x5a, heap_usable(block));
		CHECK_EQ(heap_free(block), 0);
		block = heap_alloc(bytes - 100, WHOLE, true);
		CHECK(all_are(block, bytes - 100, 0));
		memset(block, 0x5a, heap_usable(block));
		CHECK_EQ(heap_free(block), 0);
		/* Too old: its pages went. */
		if (bytes == MIB)
			wait_ms(2700);
		block = heap_alloc(bytes, WHOLE, true);
		CHECK(all_are(block, bytes, 0));
		memset(block, 0x5a, heap_usable(block));
		/* Cut, and what was cut off taken up again by a neighbour. */
		CHECK(heap_resize(block, bytes / 2));
		char *after = heap_alloc(bytes / 2, WHOLE, true);
		CHECK(all_are(after, bytes / 2, 0));
		CHECK(all_are(block, bytes / 2, 0x5a));
		CHECK_EQ(heap_free(block), 0);
		CHECK_EQ(heap_free(after), 0);
	}
	CHECK_EQ(heap_check(), 0);
}

TEST(a_freed_block_serves_the_next_of_its_size)
{
	heap_start();
	char *block = heap_alloc(MIB, WHOLE, false);
	memset(block, 1, MIB);
	CHECK_EQ(heap_free(block), 0);
	CHECK_EQ(kept(), MIB);
	CHECK(heap_alloc(MIB - 5000, WHOLE, false) == block);
	CHECK_EQ(kept(), 0);
	CHECK_EQ(hp_count_read(blocks_served), 2);
	CHECK_EQ(hp_count_read(blocks_reused), 1);
	CHECK_EQ(range_find(block)->size, MIB - 5000);
	/* Not one of another size. */
	CHECK_EQ(heap_free(block), 0);
	CHECK(heap_alloc(MIB / 2, WHOLE, false) != block);
	CHECK(heap_alloc(2 * MIB, WHOLE, false) != block);
	CHECK_EQ(kept(), MIB);
}

TEST(what_is_kept_is_bounded_without_a_device)
{
	char *blocks[12];

	skip_if_sanitized();
	heap_start();
	size_t before = resident();
	for (int i = 0; i < 12; i++)
		memset(blocks[i] = heap_alloc(16 * MIB, WHOLE, false), i, 16 * MIB);
	for (int i = 0; i < 12; i++) {
		CHECK_EQ(heap_free(blocks[i]), 0);
		CHECK(kept() <= 64 * MIB);
		CHECK_EQ(heap_check(), 0);
	}
	CHECK_EQ(kept(), 64 * MIB);
	CHECK(resident() < before + 66 * MIB);
	/* The newest are the ones that stay. */
	CHECK(heap_alloc(16 * MIB, WHOLE, false) == blocks[11]);

	/* Large ones are not kept at all. */
	memset(blocks[0] = heap_alloc(33 * MIB, WHOLE, false), 1, 33 * MIB);
	size_t full = resident();
	CHECK_EQ(heap_free(blocks[0]), 0);
	CHECK(resident() + 32 * MIB < full);
	CHECK(kept() <= 64 * MIB);
}

TEST(more_is_kept_with_a_device)
{
	size_t bound = limits_ram() / 8 < GIB ? limits_ram() / 8 : GIB;
	char *blocks[20];

	heap_start();
	heap_set_device();
	for (int i = 0; i < 20; i++)
		blocks[i] = heap_alloc(bound / 8, WHOLE, false);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(heap_free(blocks[i]), 0);
		CHECK(kept() <= bound);
	}
	CHECK(kept() > bound / 2);
}

TEST(memory_goes_back_with_age)
{
	skip_if_sanitized();
	heap_start();
	size_t before = resident();
	char *block = heap_alloc(30 * MIB, WHOLE, false);
	memset(block, 1, 30 * MIB);
	CHECK_EQ(heap_free(block), 0);
	CHECK(resident() > before + 29 * MIB);
	wait_ms(1000);
	heap_free(heap_alloc(64 * KIB, WHOLE, false));
	CHECK(kept() >= 30 * MIB);
	wait_ms(1700);
	heap_free(heap_alloc(64 * KIB, WHOLE, false));
	CHECK_EQ(kept(), 64 * KIB);
	CHECK(resident() < before + MIB);
	CHECK_EQ(heap_check(), 0);
}

TEST(untouched_memory_costs_nothing)
{
	skip_if_sanitized();
	heap_start();
	size_t before = resident();
	for (int i = 0; i < 8; i++) {
		char *block = heap_alloc(256 * MIB, WHOLE, true);

		for (size_t at = 0; at < 256 * MIB; at += 8 * MIB)
			block[at] = 1;
	}
	/* 2 MiB pages would make 512 MiB of this. */
	CHECK(resident() < before + 6 * MIB);
}

/* Does the mapping at `address` ask for 2 MiB pages? */
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

TEST(huge_pages_only_with_a_device_and_from_2_mib)
{
	heap_start();
	char *plain = heap_alloc(8 * MIB, WHOLE, false);
	CHECK(!range_find(plain)->huge);
	CHECK(!advised_huge(plain));
	CHECK_EQ(heap_free(plain), 0);

	heap_set_device();
	/* The recycled one was touched before: it stays what it was. */
	CHECK(heap_alloc(8 * MIB, WHOLE, false) == plain);
	CHECK(!range_find(plain)->huge);
	CHECK(!advised_huge(plain));

	char *small = heap_alloc(MIB, WHOLE, false), *large = heap_alloc(8 * MIB, WHOLE, false);
	CHECK(!range_find(small)->huge);
	CHECK(range_find(large)->huge);
	CHECK(advised_huge(large));
	CHECK(advised_huge(large + 8 * MIB - 1));
	CHECK(!advised_huge(plain));
	/* It stays so in the cache. */
	CHECK_EQ(heap_free(large), 0);
	CHECK(heap_alloc(8 * MIB, WHOLE, false) == large);
	CHECK(range_find(large)->huge);
}

TEST(resizes_in_place)
{
	heap_start();
	char *block = heap_alloc(4 * MIB, WHOLE, false);
	memset(block, 7, 4 * MIB);
	size_t full = resident();

	CHECK(heap_resize(block, MIB));
	CHECK_EQ(heap_usable(block), MIB);
	CHECK_EQ(live(), MIB);
	CHECK_EQ(range_find(block)->size, MIB);
	CHECK(range_find(block + MIB) == NULL);
	CHECK(SANITIZED || resident() + 2 * MIB < full);
	CHECK(all_are(block, MIB, 7));

	/* Room follows: it grows, and the new part is clean. */
	CHECK(heap_resize(block, 64 * MIB));
	CHECK_EQ(live(), heap_usable(block));
	CHECK(heap_usable(block) >= 64 * MIB);
	CHECK(all_are(block, MIB, 7));
	CHECK(all_are(block + MIB, 63 * MIB, 0));
	CHECK(range_find(block + 64 * MIB - 1) == range_find(block));

	/* A neighbour is in the way. */
	char *next = heap_alloc(2 * MIB, WHOLE, false);
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
	CHECK(heap_alloc(MIB, WHOLE, false) == NULL);
	heap_start();
	CHECK(heap_alloc(limits_ram_and_swap() + 1, WHOLE, false) == NULL);
	CHECK(heap_alloc(SIZE_MAX, WHOLE, true) == NULL);
	CHECK(heap_alloc(SIZE_MAX - 4096, 4096, true) == NULL);
	CHECK_EQ(hp_count_read(heap_fallbacks), 3);
	CHECK(heap_alloc(1, WHOLE, true) != NULL);
	CHECK_EQ(errno, 55);
}

TEST(locked_memory_goes_back_too)
{
	skip_if_sanitized();
	heap_start();
	char *block = heap_alloc(33 * MIB, WHOLE, false);
	if (mlock(block, MIB) != 0)
		CHECK_SKIP("mlock is not permitted");
	memset(block, 1, 33 * MIB);
	size_t full = resident();
	CHECK_EQ(heap_free(block), 0);
	CHECK(resident() + 30 * MIB < full);
	CHECK_EQ(heap_check(), 0);
	char *again = heap_alloc(33 * MIB, WHOLE, true);
	CHECK(all_are(again, 33 * MIB, 0));
}

CHECK_MAIN()
