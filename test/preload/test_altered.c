/*
 * test_altered.c - the program treats memory from malloc() as memory of its own mappings: it
 * protects it, maps files over it, drops its pages, and frees it afterwards.
 */
#undef _FILE_OFFSET_BITS /* both names of each function are meant */
#include "promote.h"

#include <errno.h>
#include <sys/mman.h>

#define BYTES MIB

static char *fresh(void)
{
	void *block = NULL;

	CHECK_EQ(posix_memalign(&block, 4096, BYTES), 0);
	return block;
}

/* The next memory of this size, which may be the same again, is as memory should be. */
static void check_next(void)
{
	char *block = fresh();
	int status = 1;

	memset(block, 9, BYTES);
	pid_t child = fork();
	if (child == 0) {
		bool same = block[0] == 9 && memcmp(block, block + 1, BYTES - 1) == 0;

		memset(block, 8, BYTES);
		_exit(same ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(block[0] == 9 && memcmp(block, block + 1, BYTES - 1) == 0);
	free(block);
}

TEST(protections_do_not_outlive_the_block)
{
	char *block = fresh();

	memset(block, 1, BYTES);
	CHECK_EQ(mprotect(block, BYTES, PROT_READ), 0);
	CHECK_EQ(block[BYTES / 2], 1);
	free(block);
	check_next();

	block = fresh();
	CHECK_EQ(mprotect(block + 4096, BYTES - 8192, PROT_NONE), 0);
	free(block);
	check_next();

	int key = pkey_alloc(0, 0); /* -1, where there are none, means mprotect() */
	block = fresh();
	CHECK_EQ(pkey_mprotect(block, BYTES, PROT_READ, key), 0);
	free(block);
	check_next();
}

TEST(files_do_not_outlive_the_block)
{
	int file = memfd_create("altered", 0);
	char *block = fresh(), *map;

	CHECK_EQ(ftruncate(file, BYTES), 0);
	map = mmap(block, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
	CHECK(map == block);
	memset(block, 7, BYTES);
	free(block);
	check_next();
	map = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, file, 0);
	CHECK(map[0] == 7 && memcmp(map, map + 1, BYTES - 1) == 0);
}

TEST(advices_for_fork_do_not_outlive_the_block)
{
	static const int advices[] = { MADV_DONTFORK, MADV_WIPEONFORK };

	for (int i = 0; i < 2; i++) {
		char *block = fresh();

		memset(block, 1, BYTES);
		CHECK_EQ(madvise(block, BYTES, advices[i]), 0);
		free(block);
		check_next();
	}
}

TEST(a_block_that_was_unmapped)
{
	char *block = fresh();

	CHECK_EQ(munmap(block + 4096, BYTES - 8192), 0);
	CHECK(mmap(block + 4096, BYTES - 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == block + 4096);
	free(block);
	check_next();
}

/* A block grows out of what was done to it, if at all, with its bytes. */
TEST(realloc_of_an_altered_block)
{
	char *block = fresh();

	fill(block, BYTES, 3);
	CHECK_EQ(madvise(block, BYTES, MADV_DONTFORK), 0);
	block = realloc(block, 4 * BYTES);
	CHECK(holds(block, BYTES, 3));
	block = realloc(block, BYTES / 2);
	CHECK(holds(block, BYTES / 2, 3));
	free(block);
	check_next();
}

TEST(errors_are_the_kernels)
{
	char *block = fresh(), *page = (char *)((uintptr_t)block & -(uintptr_t)4096);

	errno = 0;
	CHECK(mprotect(page + 1, 4096, PROT_READ) == -1 && errno == EINVAL);
	CHECK(madvise(page, 4096, 4711) == -1 && errno == EINVAL);
	CHECK(munmap(page + 1, 4096) == -1 && errno == EINVAL);
	CHECK(mmap(page + 1, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		      MAP_FAILED &&
	      errno == EINVAL);
	CHECK(mremap(page, 4096, 8192, 4711) == MAP_FAILED && errno == EINVAL);
	errno = 5;
	CHECK_EQ(posix_madvise(page, 4096, 4711), EINVAL);
	CHECK_EQ(posix_madvise(page, 4096, POSIX_MADV_DONTNEED), 0);
	CHECK_EQ(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(errno, 5);
	CHECK(mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
		   0) == MAP_FAILED &&
	      errno == EEXIST);
	memset(block, 1, BYTES);
	free(block);
}

/* The ways in which a block can come by other pages: after each it reads as zero. */
static void other_pages(char *block, size_t bytes, int way)
{
	const int anywhere = MAP_PRIVATE | MAP_ANONYMOUS, writable = PROT_READ | PROT_WRITE;
	char *far = mmap(NULL, bytes, writable, anywhere, -1, 0);

	switch (way) {
	case 0:
		CHECK_EQ(madvise(block, bytes, MADV_DONTNEED), 0);
		break;
	case 1:
		CHECK(mmap(block, bytes, writable, anywhere | MAP_FIXED, -1, 0) == block);
		break;
	case 2:
		CHECK_EQ(munmap(block, bytes), 0);
		CHECK(mmap64(block, bytes, writable, anywhere | MAP_FIXED, -1, 0) == block);
		break;
	case 3:
		CHECK(mremap(block, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, far) == far);
		CHECK(mmap(block, bytes, writable, anywhere, -1, 0) == block);
		break;
	case 4:
		CHECK(mremap(far, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, block) == block);
		break;
	}
	CHECK(block[0] == 0 && block[bytes - 1] == 0);
}

/* A registration that survives this holds pages that nobody sees any more. */
TEST(the_device_sees_what_the_program_sees)
{
	const size_t bytes = 4 * MIB, page = 4096;

	begin();
	for (int way = 0; way < 5; way++) {
		char *block = promoted(bytes);
		char *inner = (char *)(((uintptr_t)block + page - 1) & -page);
		size_t inside = bytes - page;

		other_pages(inner, inside, way);
		CHECK_EQ(standin_pinned(block), 0);
		for (unsigned seed = 2; seed < 14; seed++) {
			fill(block, bytes, seed);
			OK(cuMemcpyHtoD_v2(there, block, bytes));
			CHECK(seed % 6 != 0 || device_holds(there, bytes, seed));
			memset(block, 0, bytes);
			OK(cuMemcpyDtoH_v2(block, there, bytes));
			CHECK(holds(block, bytes, seed));
		}
		CHECK_EQ(standin_pinned(block), 0);
		free(block);
	}
	/* Memory that has been through that is pinned in its next life. */
	for (int i = 0; i < 5; i++)
		promoted(bytes);
}

/* What says nothing about pages takes nothing away. */
TEST(harmless_advice_leaves_the_pin)
{
	static const int advices[] = { MADV_NORMAL,   MADV_RANDOM,   MADV_SEQUENTIAL,
				       MADV_WILLNEED, MADV_HUGEPAGE, MADV_NOHUGEPAGE };
	const size_t bytes = 4 * MIB;

	begin();
	char *block = promoted(bytes), *page = (char *)((uintptr_t)block & -(uintptr_t)4096);
	int pinned = standin_pinned(block);
	for (unsigned i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		madvise(page, bytes, advices[i]);
	posix_madvise(page, bytes, POSIX_MADV_SEQUENTIAL);
	CHECK_EQ(mprotect(page, bytes, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(standin_pinned(block), pinned);
}

/* Protected memory is copied from, as libcuda would. */
TEST(a_protected_block_is_copied)
{
	const size_t bytes = 4 * MIB;

	begin();
	char *block = promoted(bytes),
	     *page = (char *)(((uintptr_t)block + 4095) & -(uintptr_t)4096);
	CHECK_EQ(mprotect(page, bytes - 4096, PROT_READ), 0);
	CHECK_EQ(standin_pinned(block), 0);
	OK(cuMemsetD8_v2(there, 0, bytes));
	OK(cuMemcpyHtoD_v2(there, block, bytes));
	CHECK(device_holds(there, bytes, 1));
	CHECK_EQ(mprotect(page, bytes - 4096, PROT_READ | PROT_WRITE), 0);
	memset(block, 0, bytes);
	OK(cuMemcpyDtoH_v2(block, there, bytes));
	CHECK(holds(block, bytes, 1));
}

PRELOAD_MAIN()
