/*
 * test_altered.c - the program treats memory of malloc() like its own mappings: it protects it,
 * locks it, binds it to a node, moves its pages, and frees it afterwards.  test/hazards has every
 * way in which the pages of a pinned block can change.
 */
#undef _FILE_OFFSET_BITS /* both names of each function are needed */
#include "memory.h"
#include "promote.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#define BYTES           MIB

/* Some headers lack these. */
#define ADVICE_COLD     20
#define ADVICE_PAGEOUT  21
#define ADVICE_COLLAPSE 25

/* Functions of libnuma: a program that links it finds ours. */
__attribute__((weak)) long mbind(void *address, unsigned long bytes, int policy,
				 const unsigned long *nodes, unsigned long most, unsigned flags);
__attribute__((weak)) long move_pages(int pid, unsigned long count, void **pages, const int *nodes,
				      int *ret_nodes, int flags);

static long my_mbind(void *address, unsigned long bytes, int policy, const unsigned long *nodes)
{
	if (mbind != NULL)
		return mbind(address, bytes, policy, nodes, 64, 0);
	return syscall(SYS_mbind, address, bytes, policy, nodes, 64, 0);
}

static char *fresh(void)
{
	void *block = NULL;

	CHECK_EQ(posix_memalign(&block, 4096, BYTES), 0);
	return block;
}

/* The next memory of this size, perhaps at the same addresses, must be ordinary memory. */
static void check_next(void)
{
	char *block = fresh();

	memset(block, 9, BYTES);
	if (CHECK_CHILD(0)) {
		bool same = block[0] == 9 && memcmp(block, block + 1, BYTES - 1) == 0;

		memset(block, 8, BYTES);
		_exit(same ? 0 : 1);
	}
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

	int key = pkey_alloc(0, 0); /* -1, if there are none, means mprotect() */
	block = fresh();
	CHECK_EQ(pkey_mprotect(block, BYTES, PROT_READ, key), 0);
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

/* True if this kernel lacks the advice, or does not allow it to this process. */
static bool is_missing(long result)
{
	if (result == -1 && (errno == EINVAL || errno == EPERM || errno == ENOSYS)) {
		printf("# not on this kernel: %m\n");
		return true;
	}
	CHECK(result != -1);
	return false;
}

/* A call that only moves pages ends the pin for that time. */
TEST_AFTER(pages_that_move, begin())
{
	const size_t bytes = 4 * MIB;
	int node[16] = { 0 }, status[16];
	void *pages[16];

	CHECK(!preloaded() || (mbind != NULL && move_pages != NULL));
	char *block = promoted(bytes), *page = (char *)(((uintptr_t)block + 4095) & -4096ul);
	for (int i = 0; i < 16; i++)
		pages[i] = page + 4096 * i;
	for (int way = 0; way < 3; way++) {
		if (way == 0 && is_missing(madvise(page, bytes / 2, ADVICE_PAGEOUT)))
			continue;
		/* The kernel may find no huge pages. */
		if (way == 1)
			madvise(page, bytes / 2, ADVICE_COLLAPSE);
		/* The pin also ends if the kernel then refuses. */
		if (way == 2 && move_pages != NULL)
			is_missing(move_pages(0, 16, pages, node, status, 0));
		CHECK_EQ(standin_pinned(block), 0);
		CHECK(holds(block, bytes, 1));
		CHECK_EQ(heat(block, bytes), preloaded());
		CHECK(device_holds(there, bytes, 1));
	}
	/* A query moves nothing. */
	if (move_pages != NULL && !is_missing(move_pages(0, 16, pages, NULL, status, 0)))
		CHECK(status[0] >= 0);
	CHECK_EQ(standin_pinned(block) != 0, preloaded());
}

/* The lock of a freed block must not count against the limit. */
TEST(locks_do_not_outlive_the_block)
{
	/* glibc stops mapping large blocks separately once one was freed. */
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	for (int i = 0; i < 3; i++) {
		char *block = malloc(BYTES + (size_t)i * BYTES / 2);

		if (i == 0 && mlock(block, BYTES) != 0)
			CHECK_SKIP("mlock is not permitted");
		if (i < 2)
			CHECK_EQ(mlock(block, BYTES), 0);
		else
			CHECK_EQ(mlock2(block, BYTES, 1), 0); /* MLOCK_ONFAULT */
		CHECK(memory_status_kib("VmLck:") >= 1024 && memory_status_kib("VmLck:") <= 1028);
		free(block);
		CHECK_EQ(memory_status_kib("VmLck:"), 0);
	}
	char *block = malloc(BYTES);
	CHECK_EQ(mlock(block, BYTES), 0);
	CHECK_EQ(munlock(block, BYTES), 0);
	CHECK_EQ(memory_status_kib("VmLck:"), 0);
	free(block);
}

/* A NUMA policy must not, either. */
TEST(policies_do_not_outlive_the_block)
{
	const int bind = 2, by_address = 2; /* MPOL_BIND, MPOL_F_ADDR */
	unsigned long node0 = 1;
	int policy = -1;

	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	for (int i = 0; i < 3; i++) {
		char *block = fresh(), *page = (char *)(((uintptr_t)block + 4095) & -4096ul);

		memset(block, 1, BYTES);
		if (is_missing(syscall(SYS_get_mempolicy, &policy, NULL, 0, page, by_address)))
			CHECK_SKIP("queries of memory policies are not permitted");
		CHECK_EQ(policy, 0);
		if (is_missing(my_mbind(page, BYTES / 2, bind, &node0)))
			return;
		CHECK_EQ(syscall(SYS_get_mempolicy, &policy, NULL, 0, page, by_address), 0);
		CHECK_EQ(policy, bind);
		free(block);
	}
	check_next();
}

/* Advice that does not affect pages leaves the pin. */
TEST(harmless_advice_leaves_the_pin)
{
	static const int advices[] = { MADV_NORMAL,   MADV_RANDOM,   MADV_SEQUENTIAL,
				       MADV_WILLNEED, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
				       MADV_DOFORK,   MADV_DODUMP,   MADV_KEEPONFORK,
				       ADVICE_COLD };
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

/* Pages that the driver moves or drops: of a block in each of two ranges. */
static void batch(const char *name, bool discards)
{
	char *blocks[2] = { promoted(BYTES), promoted(2 * BYTES) };
	CUdeviceptr ranges[2] = { (CUdeviceptr)blocks[0], (CUdeviceptr)blocks[1] + BYTES };
	size_t sizes[2] = { BYTES, BYTES }, index = 0;
	CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE };
	void *call = dlsym(dlopen("libcuda.so.1", RTLD_NOW), name);

	CHECK_EQ(standin_pinned(blocks[1]) != 0, preloaded());
	if (discards)
		((CUresult(*)(CUdeviceptr *, size_t *, size_t, unsigned long long, CUstream))call)(
			ranges, sizes, 2, 0, NULL);
	else
		((CUresult(*)(CUdeviceptr *, size_t *, size_t, CUmemLocation *, size_t *, size_t,
			      unsigned long long, CUstream))call)(ranges, sizes, 2, &location,
								  &index, 1, 0, NULL);
	CHECK_EQ(standin_pinned(blocks[0]), 0);
	CHECK_EQ(standin_pinned(blocks[1]), 0);
}

TEST_AFTER(ranges_of_a_batch, begin())
{
	batch("cuMemDiscardBatchAsync", true);
	batch("cuMemDiscardBatchAsync_ptsz", true);
	batch("cuMemPrefetchBatchAsync", false);
	batch("cuMemPrefetchBatchAsync_ptsz", false);
	batch("cuMemDiscardAndPrefetchBatchAsync", false);
	batch("cuMemDiscardAndPrefetchBatchAsync_ptsz", false);
}

PRELOAD_MAIN()
