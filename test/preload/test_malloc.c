/*
 * test_malloc.c - the allocation functions behave as glibc's do: the same checks pass without the
 * library.
 */
#include "memory.h"
#include "preload.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* volatile, so that the compiler cannot replace the calls. */
static void *(*volatile my_malloc)(size_t) = malloc;
static void *(*volatile my_calloc)(size_t, size_t) = calloc;
static void *(*volatile my_realloc)(void *, size_t) = realloc;
static void *(*volatile my_reallocarray)(void *, size_t, size_t) = reallocarray;
static void *(*volatile my_memalign)(size_t, size_t) = memalign;
static void *(*volatile my_aligned_alloc)(size_t, size_t) = aligned_alloc;
static int (*volatile my_posix_memalign)(void **, size_t, size_t) = posix_memalign;
static void *(*volatile my_valloc)(size_t) = valloc;
static void *(*volatile my_pvalloc)(size_t) = pvalloc;
static void (*volatile my_free)(void *) = free;

static struct mallinfo my_mallinfo(void)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
	return mallinfo();
#pragma GCC diagnostic pop
}

static const size_t sizes[] = { 0,
				1,
				24,
				4095,
				64 * KIB - 1,
				64 * KIB,
				64 * KIB + 1,
				64 * KIB + 4095,
				64 * KIB + 4096,
				255 * KIB,
				256 * KIB - 1,
				256 * KIB,
				256 * KIB + 1,
				256 * KIB + 4095,
				256 * KIB + 4096,
				MIB - 1,
				MIB,
				2 * MIB,
				3 * MIB + 17,
				33 * MIB };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* True if the block can be used to its end, including all of malloc_usable_size(). */
static bool works(char *block, size_t bytes)
{
	if (block == NULL || (uintptr_t)block % 16 != 0)
		return false;
	size_t usable = malloc_usable_size(block);

	memset(block, 0x5a, usable);
	return usable >= bytes;
}

static bool is_zero(const char *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (block[i] != 0)
			return false;
	return true;
}

TEST(every_size_from_every_function)
{
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < SIZES; i++) {
			size_t n = sizes[i];
			void *block = my_malloc(n);

			errno = 4711;
			CHECK(works(block, n));
			my_free(block);
			block = my_calloc(n, 1);
			CHECK(block != NULL && is_zero(block, n) && works(block, n));
			my_free(block);
			block = my_calloc(1, n);
			CHECK(block != NULL && is_zero(block, n) && works(block, n));
			block = my_realloc(block, n + 100);
			CHECK(works(block, n + 100));
			block = my_reallocarray(block, n + 1, 2);
			CHECK(works(block, (n + 1) * 2));
			my_free(block);
			block = my_realloc(NULL, n);
			CHECK(works(block, n));
			my_free(block);
			block = my_valloc(n);
			CHECK(works(block, n) && (uintptr_t)block % 4096 == 0);
			my_free(block);
			block = my_pvalloc(n);
			CHECK(works(block, n) && (uintptr_t)block % 4096 == 0);
			CHECK(malloc_usable_size(block) >= (n + 4095) / 4096 * 4096);
			my_free(block);
			CHECK_EQ(errno, 4711); /* success and free() do not change it */
		}
	}
}

TEST(every_alignment)
{
	for (size_t alignment = 1; alignment <= 8 * MIB; alignment *= 2) {
		for (size_t i = 0; i < SIZES; i++) {
			void *block = my_memalign(alignment, sizes[i]);

			CHECK(works(block, sizes[i]) && (uintptr_t)block % alignment == 0);
			my_free(block);
			block = my_aligned_alloc(alignment, sizes[i]);
			CHECK(works(block, sizes[i]) && (uintptr_t)block % alignment == 0);
			block = my_realloc(block, sizes[i] + 1);
			CHECK(works(block, sizes[i] + 1));
			my_free(block);
			if (alignment < sizeof(void *))
				continue;
			CHECK_EQ(my_posix_memalign(&block, alignment, sizes[i]), 0);
			CHECK(works(block, sizes[i]) && (uintptr_t)block % alignment == 0);
			my_free(block);
		}
	}
}

/* Impossible and invalid requests: results and errno are glibc's, and nothing is lost. */
TEST(what_is_refused)
{
	static const size_t huge[] = { PTRDIFF_MAX,  (size_t)PTRDIFF_MAX + 1,
				       SIZE_MAX,     SIZE_MAX - 15,
				       SIZE_MAX / 2, (size_t)1 << 62 };
	void *block, *const untouched = (void *)8;

	for (size_t i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) {
		size_t n = huge[i];

#define REFUSED(call)                    \
	do {                             \
		errno = 0;               \
		CHECK((call) == NULL);   \
		CHECK_EQ(errno, ENOMEM); \
	} while (0)
		REFUSED(my_malloc(n));
		REFUSED(my_calloc(1, n));
		REFUSED(my_calloc(n, 1));
		REFUSED(my_calloc(n, n));
		REFUSED(my_realloc(NULL, n));
		REFUSED(my_reallocarray(NULL, n, 1));
		REFUSED(my_reallocarray(NULL, n, 16));
		REFUSED(my_memalign(64, n));
		REFUSED(my_aligned_alloc(4096, n));
		REFUSED(my_valloc(n));
		REFUSED(my_pvalloc(n));
		block = untouched;
		CHECK_EQ(my_posix_memalign(&block, 64, n), ENOMEM);
		CHECK(block == untouched);
		for (int large = 0; large < 2; large++) {
			char *old = my_malloc(large ? MIB : 100);

			strcpy(old, "kept");
			REFUSED(my_realloc(old, n));
			REFUSED(my_reallocarray(old, n, 2));
			CHECK(strcmp(old, "kept") == 0);
			my_free(old);
		}
	}
	REFUSED(my_calloc(SIZE_MAX / 2 + 1, 2));
	REFUSED(my_calloc(MIB << 20, MIB << 20));
	REFUSED(my_reallocarray(NULL, SIZE_MAX / 2 + 1, 2));
#undef REFUSED
	block = untouched;
	for (size_t n = 8; n <= 4 * MIB; n *= 512) {
		CHECK_EQ(my_posix_memalign(&block, 0, n), EINVAL);
		CHECK_EQ(my_posix_memalign(&block, 3, n), EINVAL);
		CHECK_EQ(my_posix_memalign(&block, 4, n), EINVAL);
		CHECK_EQ(my_posix_memalign(&block, 24, n), EINVAL);
		CHECK(block == untouched);
	}
}

/* Unusual requests: glibc of this system decides, see plain. */
TEST(zero_and_null)
{
	char *block = my_malloc(0), *other = my_malloc(0);

	CHECK(block != NULL && other != NULL && block != other);
	my_free(block);
	my_free(other);
	my_free(NULL);
	CHECK_EQ(malloc_usable_size(NULL), 0);
	for (int large = 0; large < 2; large++) {
		CHECK(my_realloc(my_malloc(large ? MIB : 100), 0) == NULL);
		CHECK(my_reallocarray(my_malloc(large ? MIB : 100), 0, 8) == NULL);
	}
	block = my_realloc(NULL, 0);
	CHECK(block != NULL);
	my_free(block);
	block = my_calloc(0, 0);
	CHECK(block != NULL);
	my_free(block);
}

static bool holds(const char *block, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 509)
		if (block[i] != (char)(i / 509))
			return false;
	return true;
}

/* Resizes a block in every way across every boundary; its contents stay. */
TEST(realloc_keeps_what_is_there)
{
	for (size_t from = 0; from < SIZES; from++) {
		for (size_t to = 0; to < SIZES; to++) {
			size_t less = sizes[from] < sizes[to] ? sizes[from] : sizes[to];
			char *block = my_malloc(sizes[from]);

			for (size_t i = 0; i < sizes[from]; i += 509)
				block[i] = (char)(i / 509);
			block = my_realloc(block, sizes[to]);
			if (sizes[to] == 0) {
				CHECK(block == NULL);
				continue;
			}
			CHECK(block != NULL && holds(block, less));
			CHECK(works(block, sizes[to]));
			my_free(block);
		}
	}
}

/* If address space is exhausted, our malloc() also fails. */
static void live_within_half_a_gib(void)
{
	struct rlimit limit = { 512 * MIB, 512 * MIB };
	unsigned got = 0;
	void *block;

	CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
	errno = 0;
	while (got < 64 && (block = my_malloc(32 * MIB)) != NULL)
		got++;
	CHECK(got >= 12 && got < 16);
	CHECK_EQ(errno, ENOMEM);
	/* Small blocks still work. */
	CHECK(my_malloc(100) != NULL);
}

CASE(a_limit_of_address_space, live_within_half_a_gib())

/* The limit is set long after the first use of the heap. */
CASE(a_late_limit_of_address_space, my_free(my_malloc(4 * MIB)); live_within_half_a_gib())

/* libc's own reports and functions about its memory stay unchanged. */
TEST(what_is_left_to_libc)
{
	static const char *const names[] = { "mallopt", "malloc_stats", "malloc_info",
					     "reallocarray" };
	char *text = NULL;
	size_t length = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK(preload_is_in(dlsym(RTLD_DEFAULT, names[i]), "libc.so.6"));
	char *small = my_malloc(5000), *large = my_malloc(4 * MIB);
	memset(large, 1, 4 * MIB);
	struct mallinfo2 facts = mallinfo2();
	CHECK(facts.uordblks >= 5000 && facts.arena > 0);
	FILE *file = open_memstream(&text, &length);
	CHECK_EQ(malloc_info(0, file), 0);
	fclose(file);
	CHECK(strstr(text, "<malloc version") != NULL && strstr(text, "</malloc>") != NULL);
	my_free(text);
	CHECK_EQ(mallopt(M_TRIM_THRESHOLD, 64 << 10), 1);
	CHECK_EQ(mallopt(M_PERTURB, 0x55), 1);
	CHECK_EQ(mallopt(M_PERTURB, 0), 1);
	malloc_trim(0);
	CHECK(large[0] == 1 && large[4 * MIB - 1] == 1);
	my_free(small);
	my_free(large);
	malloc_trim(0);
}

/* Programs print these sums, or act on them. */
TEST(large_blocks_are_counted)
{
	char *first = my_malloc(40 * MIB);
	struct mallinfo2 before = mallinfo2();
	struct mallinfo old = my_mallinfo();
	char *second = my_malloc(40 * MIB);
	struct mallinfo2 after = mallinfo2();

	CHECK(before.hblkhd >= 40 * MIB && before.hblks >= 1);
	CHECK_EQ(old.hblkhd, (int)before.hblkhd);
	CHECK_EQ(old.hblks, (int)before.hblks);
	CHECK_EQ(after.hblks, before.hblks + 1);
	CHECK(after.hblkhd - before.hblkhd >= 40 * MIB && after.hblkhd - before.hblkhd < 46 * MIB);
	my_free(first);
	my_free(second);
	CHECK(mallinfo2().hblkhd < 40 * MIB);
}

/* Free memory of both heaps is released immediately; memory in use stays. */
TEST(trimming)
{
	static char *ours[40], *theirs[400];

	char *large = my_malloc(4 * MIB);
	memset(large, 7, 4 * MIB);
	size_t before = memory_resident();
	for (int i = 0; i < 40; i++)
		memset(ours[i] = my_malloc(MIB), 1, MIB);
	for (int i = 0; i < 400; i++)
		memset(theirs[i] = my_malloc(20 * KIB), 1, 20 * KIB);
	char *last = my_malloc(20 * KIB);
	memset(last, 7, 20 * KIB);
	for (int i = 0; i < 40; i++)
		my_free(ours[i]);
	for (int i = 0; i < 400; i++)
		my_free(theirs[i]);
	errno = ENOTTY;
	CHECK_EQ(malloc_trim(0), 1);
	CHECK_EQ(errno, ENOTTY);
	CHECK(memory_resident() <= before + 2 * MIB);
	for (size_t at = 0; at < 4 * MIB; at += 4 * KIB)
		CHECK(large[at] == 7);
	CHECK(last[20 * KIB - 1] == 7);
	/* As much as requested stays, and all can be allocated again. */
	for (int i = 0; i < 40; i++)
		memset(ours[i] = my_malloc(MIB), 1, MIB);
	for (int i = 0; i < 40; i++)
		my_free(ours[i]);
	malloc_trim(20 * MIB);
	CHECK(!preloaded() || memory_resident() >= before + 15 * MIB);
	malloc_trim(0);
	CHECK(memory_resident() <= before + 2 * MIB);
	my_free(large);
	CHECK(is_zero(my_calloc(4 * MIB, 1), 4 * MIB));
}

/* Advice for 2 MiB pages ends with the block: a sparse table would become dense. */
TEST(page_sizes_do_not_outlive_the_block)
{
	const size_t bytes = 64 * MIB;
	const char *path = "/sys/kernel/mm/transparent_hugepage/enabled";
	char mode[64], *block = malloc(bytes);

	if (strstr(check_read(path, mode, sizeof(mode)), "[madvise]") == NULL)
		CHECK_SKIP("needs 2 MiB pages on request");
	char *page = (char *)(((uintptr_t)block + 4095) & -4096ul);
	CHECK_EQ(madvise(page, bytes - 4096, MADV_HUGEPAGE), 0);
	memset(block, 1, bytes);
	free(block);
	size_t before = memory_resident();
	volatile char *table = calloc(bytes, 1);
	for (size_t at = 0; at < bytes; at += 2 * MIB)
		table[at] = 1;
	printf("# %zu KiB more\n", (memory_resident() - before) / KIB);
	CHECK(memory_resident() < before + bytes / 4);
	free((void *)table);
}

PRELOAD_MAIN()
