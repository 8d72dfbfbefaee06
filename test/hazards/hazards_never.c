/*
 * hazards_never.c - rows 14, 15 and 29: memory that the library did not allocate is copied a
 * thousand times and never pinned.
 */
#include "hazards.h"

#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

/* A size that the library would serve itself. */
#define SIZE      (300 * KIB)
#define ROUNDS    250 /* with four copies each */
#define WRITABLE  (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

/* Returns the number of registrations by the library; -1: unknown. */
static int registrations(void)
{
	int (*calls)(const char *) = (int (*)(const char *))stand_in("standin_calls");

	return calls != NULL ? calls("cuMemHostRegister") : -1;
}

static void never_pinned(char *at, bool writable)
{
	begin();
	int before = registrations();

	if (!CHECK(at != NULL && at != MAP_FAILED))
		return;
	for (unsigned i = 0; i < ROUNDS && check_failures == 0; i++) {
		bool look = i % 50 == 0;

		if (writable && look)
			fill(at, SIZE, i);
		OK(cu.cuMemcpyHtoD_v2(there, at, SIZE));
		OK(cu.cuMemcpyHtoDAsync_v2(there + MIB, at, SIZE, stream));
		if (!writable)
			continue;
		if (look)
			memset(at, 0, SIZE);
		OK(cu.cuMemcpyDtoH_v2(at, there, SIZE));
		CHECK(!look || holds(at, SIZE, i));
		OK(cu.cuMemcpyDtoHAsync_v2(at, there + MIB, SIZE, stream));
		CHECK(!look || holds(at, SIZE, i));
	}
	OK(cu.cuCtxSynchronize());
	CHECK(!is_pinned(at) && !is_pinned(at + SIZE / 2) && !is_pinned(at + SIZE - 1));
	/* Only the staging ring, which such copies use, may be registered once. */
	CHECK(registrations() <= before + 1);
}

static char in_data[SIZE] = { 1 }, in_bss[SIZE];
static const char constant[SIZE] = { 1 };
static __thread char of_the_thread[SIZE];

CASE(row14_static, never_pinned(in_data, true))
CASE(row14_bss, never_pinned(in_bss, true))
CASE(row14_constant, never_pinned((char *)constant, false))
CASE(row14_thread_local, never_pinned(of_the_thread, true))

static void *on_a_stack(void *arg)
{
	char data[SIZE];

	begin();
	never_pinned(data, true);
	return arg;
}

CASE(row14_stack, on_a_stack(NULL))
CASE(row14_stack_of_a_thread, begin(); check_in_thread(on_a_stack, NULL))

TEST(row14_brk)
{
	char *at = sbrk((intptr_t)SIZE);

	never_pinned(at, true);
	if (sbrk(0) != at + SIZE)
		return; /* libc has taken the following memory */
	CHECK_EQ(brk(at), 0);
	/* Shrunk and grown again, the memory has other pages. */
	CHECK(sbrk((intptr_t)SIZE) == (void *)at && at[0] == 0);
	never_pinned(at, true);
}

TEST(row14_mapping_of_its_own)
{
	for (int i = 0; i < 2; i++) {
		char *at = mmap(NULL, SIZE, WRITABLE, ANONYMOUS, -1, 0);

		never_pinned(at, true);
		CHECK_EQ(madvise(at, SIZE, MADV_DONTNEED), 0);
		never_pinned(at, true);
		CHECK_EQ(munmap(at, SIZE), 0);
		CHECK(mmap(at, SIZE, WRITABLE, ANONYMOUS | MAP_FIXED, -1, 0) == at);
		never_pinned(at, true);
		CHECK_EQ(munmap(at, SIZE), 0);
	}
}

/* Memory of libc that bypasses all preloaded libraries. */
TEST(row14_libc_behind_our_back)
{
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "__libc_malloc");
	void (*release)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "__libc_free");

	if (allocate == NULL || release == NULL)
		SKIP("libc does not export it");
	for (int i = 0; i < 3; i++) {
		char *at = allocate(SIZE);

		never_pinned(at, true);
		release(at);
	}
}

TEST(row14_small_blocks_of_malloc)
{
	enum { COUNT = 64 };
	char *block[COUNT];

	begin();
	int before = registrations();
	for (int i = 0; i < COUNT; i++)
		block[i] = malloc(32 * KIB);
	for (unsigned i = 0; i < 40 * COUNT; i++)
		OK(cu.cuMemcpyHtoD_v2(there, block[i % COUNT], 32 * KIB));
	for (int i = 0; i < COUNT; i++) {
		CHECK(!is_pinned(block[i]));
		free(block[i]);
	}
	/* Only the staging ring, which such copies use, may be registered once. */
	CHECK(registrations() <= before + 1);
}

/* Opens an unnamed file of SIZE bytes. */
static int file_of(const char *folder)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/hazard.XXXXXX", folder);
	int file = mkstemp(path);
	if (file < 0)
		return -1;
	unlink(path);
	if (ftruncate(file, SIZE) != 0) {
		close(file);
		return -1;
	}
	return file;
}

static void mapped(int file, int flags)
{
	if (file < 0)
		SKIP("no such file here");
	char *at = mmap(NULL, SIZE, WRITABLE, flags, file, 0);

	never_pinned(at, true);
	CHECK_EQ(munmap(at, SIZE), 0);
	close(file);
}

CASE(row15_file, mapped(file_of("/tmp"), MAP_SHARED))
CASE(row15_private_mapping_of_a_file, mapped(file_of("/tmp"), MAP_PRIVATE))
CASE(row15_dev_shm, mapped(file_of("/dev/shm"), MAP_SHARED))

TEST(row15_memfd)
{
	int file = memfd_create("hazard", 0);

	CHECK_EQ(ftruncate(file, SIZE), 0);
	mapped(file, MAP_SHARED);
}

TEST(row15_shared_anonymous)
{
	char *at = mmap(NULL, SIZE, WRITABLE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	never_pinned(at, true);
	CHECK_EQ(munmap(at, SIZE), 0);
}

TEST(row15_system_v)
{
	int id = shmget(IPC_PRIVATE, SIZE, IPC_CREAT | 0600);

	if (id < 0)
		SKIP("no System V shared memory");
	char *at = shmat(id, NULL, 0);
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	never_pinned(at, true);
	CHECK_EQ(shmdt(at), 0);
}

TEST(row15_huge_pages)
{
	char *at = mmap(NULL, 2 * MIB, WRITABLE, ANONYMOUS | MAP_HUGETLB, -1, 0);

	if (at == MAP_FAILED)
		SKIP("none are set aside");
	never_pinned(at, true);
	CHECK_EQ(munmap(at, 2 * MIB), 0);
}

/*
 * The program's own memory is mapped and unmapped by system calls, unnoticed.  For blocks of
 * malloc() nothing is guaranteed: a program that unmaps those by system calls also breaks without
 * the library.
 */
TEST(row29_system_calls_on_its_own_memory)
{
	for (int i = 0; i < 4; i++) {
		char *at = (char *)syscall(SYS_mmap, NULL, SIZE, WRITABLE, ANONYMOUS, -1, 0);

		never_pinned(at, true);
		CHECK_EQ(syscall(SYS_madvise, at, SIZE, MADV_DONTNEED), 0);
		CHECK(at[0] == 0);
		never_pinned(at, true);
		CHECK_EQ(syscall(SYS_munmap, at, SIZE), 0);
	}
}

/* A library with memory of its own is loaded and unloaded. */
TEST(row29_a_library_that_goes)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);

	begin();
	char *block = hot(BYTES);
	CHECK(library != NULL && dlclose(library) == 0);
	agrees(block, BYTES);
	free(block);
}
