/*
 * hazards_pages.c - rows 1 to 4, 16 and 28: memory is freed, moved and discarded while it is
 * registered.
 */
#undef _FILE_OFFSET_BITS /* both names of each function are needed */
#include "hazards.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>

#define WRITABLE  (PROT_READ | PROT_WRITE)
#define ANONYMOUS (MAP_PRIVATE | MAP_ANONYMOUS)

TEST_AFTER(row01_freed_and_had_again, begin())
{
	for (unsigned i = 0; i < 60 && check_failures == 0; i++) {
		size_t bytes = (1 + i * 37 % 80) * 100000;
		char *block = malloc(bytes);

		fill(block, bytes, i);
		OK(cu.cuMemcpyHtoD_v2(there, block, bytes));
		CHECK(device_holds(there, bytes, i));
		memset(block, 0, bytes);
		OK(cu.cuMemcpyDtoHAsync_v2(block, there, bytes, stream));
		CHECK(holds(block, bytes, i));
		free(block);
	}
}

/* The next owner can register the memory itself. */
TEST_AFTER(row01_freed_and_registered_by_the_next, begin())
{
	for (int i = 0; i < 3; i++) {
		free(hot(BYTES));
		char *block = malloc(BYTES);

		OK(cu.cuMemHostRegister_v2(block, BYTES, 0));
		OK(cu.cuMemHostUnregister(block));
		free(block);
	}
}

/* Source and destination may be freed as soon as the copy returns. */
TEST_AFTER(row01_freed_behind_a_copy, begin())
{
	const size_t sizes[] = { 4, 64 * KIB, MIB };

	for (size_t i = 0; i < 3; i++) {
		char *block = hot(BYTES);

		fill(block, BYTES, 3);
		spin(stream, 5);
		OK(cu.cuMemcpyHtoDAsync_v2(there, block, sizes[i], stream));
		free(block);
		block = malloc(BYTES);
		memset(block, 0, BYTES);
		CHECK(device_holds(there, sizes[i], 3));
		free(block);
	}
}

/* free() does not wait for the device. */
TEST_AFTER(row01_freed_while_a_kernel_runs, begin())
{
	char *blocks[4];

	for (int i = 0; i < 4; i++)
		blocks[i] = hot(BYTES << i);
	spin(stream, 300);
	for (int i = 0; i < 4; i++)
		free(blocks[i]);
	char *next = malloc(3 * BYTES);
	memset(next, 1, 3 * BYTES);
	CHECK_EQ(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	OK(cu.cuCtxSynchronize());
	free(next);
}

/* Repeated, because leftovers of a block only show when its memory is allocated again. */
static void resized(char *(*resize)(char *))
{
	begin();
	for (int i = 0; i < 12 && check_failures == 0; i++) {
		char *block = hot(BYTES);

		fill(block, BYTES, 5);
		block = resize(block);
		CHECK(holds(block, MIB, 5));
		agrees(block, MIB);
		CHECK_EQ(heat(block, MIB), preloaded());
		agrees(block, MIB);
		free(block);
	}
}

static char *grow(char *block)
{
	return realloc(block, 5 * BYTES);
}

static char *grow_by_little(char *block)
{
	return realloc(block, BYTES + 1);
}

static char *shrink(char *block)
{
	return realloc(block, MIB);
}

static char *grow_an_array(char *block)
{
	return reallocarray(block, 3, BYTES);
}

/* The stream must still read the bytes of the old block. */
static char *grow_behind_a_copy(char *block)
{
	spin(stream, 5);
	OK(cu.cuMemcpyHtoDAsync_v2(there, block, MIB, stream));
	block = realloc(block, 5 * BYTES);
	memset(block, 0, MIB);
	CHECK(device_holds(there, MIB, 5));
	fill(block, BYTES, 5);
	return block;
}

CASE(row02_grown, resized(grow))
CASE(row02_grown_by_a_byte, resized(grow_by_little))
CASE(row02_shrunk, resized(shrink))
CASE(row02_reallocarray, resized(grow_an_array))
CASE(row02_grown_behind_a_copy, resized(grow_behind_a_copy))

/* `act` changes the pages of a pinned block, which it knows as `at`. */
#define CHANGES(id, act)                                      \
	TEST(id)                                              \
	{                                                     \
		begin();                                      \
		char *block = hot(BYTES), *at = inner(block); \
                                                              \
		act;                                          \
		changed(block);                               \
	}

static void *map_at(char *at, int flags)
{
	return mmap(at, INSIDE, WRITABLE, ANONYMOUS | flags, -1, 0);
}

/* The address hint is honored if nothing is mapped there. */
CHANGES(row03_munmap, CHECK_EQ(munmap(at, INSIDE), 0); CHECK(map_at(at, 0) == at))
CHANGES(row03_munmap_of_a_page, CHECK_EQ(munmap(at + MIB, PAGE), 0);
	CHECK(mmap(at + MIB, PAGE, WRITABLE, ANONYMOUS, -1, 0) == at + MIB))
CHANGES(row03_mmap_fixed, CHECK(map_at(at, MAP_FIXED) == at))
CHANGES(row03_mmap64_fixed, CHECK(mmap64(at, INSIDE, WRITABLE, ANONYMOUS | MAP_FIXED, -1, 0) == at))
CHANGES(row03_mremap_away, char *far = map_at(NULL, 0);
	CHECK(mremap(at, INSIDE, INSIDE, MREMAP_MAYMOVE | MREMAP_FIXED, far) == far);
	CHECK(holds_from(far, (size_t)(at - block), INSIDE, 1)); CHECK(map_at(at, 0) == at);
	CHECK_EQ(munmap(far, INSIDE), 0))
CHANGES(row03_mremap_dontunmap, char *far = map_at(NULL, 0);
	CHECK(mremap(at, INSIDE, INSIDE, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, far) ==
	      far);
	CHECK(at[0] == 0 && at[INSIDE - 1] == 0); CHECK_EQ(munmap(far, INSIDE), 0))
CHANGES(row03_mremap_onto_it, char *far = map_at(NULL, 0); memset(far, 7, INSIDE);
	CHECK(mremap(far, INSIDE, INSIDE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at);
	CHECK(at[0] == 7 && at[INSIDE - 1] == 7))

TEST_AFTER(row03_shared_memory_over_it, begin())
{
	char *block = hot(BYTES), *at = inner(block);

	CHECK(mmap(at, INSIDE, WRITABLE, MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
	CHECK(!is_pinned(at));
	agrees(block, BYTES);
	CHECK(map_at(at, MAP_FIXED) == at);
	changed(block);
}

/* Shared memory is attached over the block, and detached again. */
TEST(row03_shmat_over_it)
{
	int id = shmget(IPC_PRIVATE, INSIDE, IPC_CREAT | 0600);

	if (id < 0)
		SKIP("no System V shared memory");
	begin();
	char *block = hot(BYTES), *at = inner(block);

	CHECK(shmat(id, at, SHM_REMAP) == (void *)at);
	CHECK_EQ(shmctl(id, IPC_RMID, NULL), 0);
	CHECK(at[0] == 0 && at[INSIDE - 1] == 0);
	CHECK(!is_pinned(at));
	agrees(block, BYTES);
	CHECK_EQ(shmdt(at), 0);
	CHECK(map_at(at, MAP_FIXED) == at);
	changed(block);
}

#define COLLAPSE 25

/* If libc allocates the same pages again, they must be inherited by children as other pages are. */
static void undo(char *at, int advice)
{
	if (advice == MADV_DONTFORK)
		CHECK_EQ(madvise(at, INSIDE, MADV_DOFORK), 0);
	if (advice == MADV_WIPEONFORK)
		CHECK_EQ(madvise(at, INSIDE, MADV_KEEPONFORK), 0);
}

/* Gives one advice of madvise() for the pages of a pinned block; the result is the kernel's. */
static void advised(int advice)
{
	begin();
	char *block = hot(BYTES), *at = inner(block);

	errno = 0;
	int result = madvise(at, INSIDE, advice);
	/* Whether pages can be collapsed depends on their physical place. */
	if (advice != COLLAPSE) {
		SEE("madvise", result);
		SEE("errno", errno);
	}
	if (advice == MADV_DONTNEED)
		CHECK(at[0] == 0 && at[INSIDE - 1] == 0);
	agrees(block, BYTES);
	heat(block, BYTES);
	agrees(block, BYTES);
	undo(at, advice);
	free(block);
	block = hot(BYTES);
	agrees(block, BYTES);
	free(block);
}

#define ADVICE(id, advice)       \
	TEST(id)                 \
	{                        \
		advised(advice); \
	}

/* Numbers for advice that a C library may not have names for. */
ADVICE(row04_dontneed, MADV_DONTNEED)
ADVICE(row04_dontneed_locked, 24)
ADVICE(row04_free, MADV_FREE)
ADVICE(row04_remove, MADV_REMOVE)
ADVICE(row04_cold, 20)
ADVICE(row04_pageout, 21)
ADVICE(row04_dontfork, MADV_DONTFORK)
ADVICE(row04_wipeonfork, MADV_WIPEONFORK)
ADVICE(row04_dontdump, MADV_DONTDUMP)
ADVICE(row04_unknown, 4711)
ADVICE(row16_hugepage, MADV_HUGEPAGE)
ADVICE(row16_nohugepage, MADV_NOHUGEPAGE)
ADVICE(row16_mergeable, MADV_MERGEABLE)
ADVICE(row16_populate_write, 23)
ADVICE(row16_collapse, COLLAPSE)

/* The pages are dropped, and return empty. */
TEST_AFTER(row04_guard_pages, begin())
{
	char *block = hot(BYTES), *at = inner(block);
	int result = madvise(at, INSIDE, 102);

	SEE("guard", result);
	if (result != 0) {
		free(block);
		SKIP("the kernel has no guard pages");
	}
	CHECK_EQ(madvise(at, INSIDE, 103), 0);
	CHECK(at[0] == 0 && at[INSIDE - 1] == 0);
	changed(block);
}

/*
 * A host function changes the pages of its block.  The driver refuses calls from there, so the
 * block is unpinned by the first copy that follows.
 */
struct called {
	char *block;
	bool (*change)(char *at);
	bool done;
};

static void change_in_call(void *arg)
{
	struct called *called = arg;

	called->done = called->change(inner(called->block));
}

static void changed_in_a_host_function(bool (*change)(char *at))
{
	begin();
	struct called called = { .block = hot(BYTES), .change = change };

	OK(cu.cuLaunchHostFunc(stream, change_in_call, &called));
	OK(cu.cuStreamSynchronize(stream));
	CHECK(called.done);
	agrees(called.block, BYTES);
	changed(called.block);
}

static bool replace(char *at)
{
	return map_at(at, MAP_FIXED) == at;
}

static bool drop(char *at)
{
	return madvise(at, INSIDE, MADV_DONTNEED) == 0;
}

static bool lock(char *at)
{
	/* Pages that stay locked would be found by later tests. */
	return mlock(at, PAGE) == 0 && munlock(at, PAGE) == 0;
}

CASE(row03_mapped_over_in_a_host_function, changed_in_a_host_function(replace))
CASE(row04_dontneed_in_a_host_function, changed_in_a_host_function(drop))
CASE(row18_locked_in_a_host_function, changed_in_a_host_function(lock))

/* Pages may be changed repeatedly, with any copy in between. */
TEST_AFTER(row04_dontneed_again_and_again, begin())
{
	char *block = hot(BYTES), *at = inner(block);

	for (int i = 0; i < 4; i++) {
		CHECK_EQ(madvise(at, INSIDE, MADV_DONTNEED), 0);
		CHECK(at[0] == 0 && at[INSIDE - 1] == 0);
		heat(block, BYTES);
	}
	CHECK_EQ(madvise(at, INSIDE, MADV_DONTNEED), 0);
	changed(block);
}

TEST_AFTER(row04_posix_madvise, begin())
{
	char *block = hot(BYTES);

	for (int advice = 0; advice < 6; advice++) {
		SEE("posix_madvise", posix_madvise(inner(block), INSIDE, advice));
		agrees(block, BYTES);
	}
	free(block);
}

/* Uses a descriptor of the process itself. */
TEST(row04_process_madvise)
{
	static const int advices[] = { 20, 21, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE };
	ssize_t (*advise)(int, const struct iovec *, size_t, int, unsigned) =
		(ssize_t(*)(int, const struct iovec *, size_t, int, unsigned))dlsym(
			RTLD_DEFAULT, "process_madvise");
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (advise == NULL || self < 0)
		SKIP("no process_madvise()");
	begin();
	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++) {
		char *block = hot(BYTES);
		struct iovec range = { inner(block), INSIDE };

		errno = 0;
		SEE("process_madvise", advise(self, &range, 1, advices[i], 0));
		SEE("errno", errno);
		agrees(block, BYTES);
		free(block);
	}
	close(self);
}

/* A child of fork() finds what the advice states. */
static void advised_for_children(int advice, int expected)
{
	begin();
	char *block = hot(BYTES);

	CHECK_EQ(madvise(inner(block), INSIDE, advice), 0);
	if (CHECK_CHILD(expected)) {
		signal(SIGSEGV, SIG_DFL);
		_exit(*(volatile char *)(inner(block) + MIB) == 0 ? 3 : 4);
	}
	undo(inner(block), advice);
	changed(block);
}

CASE(row04_dontfork_and_fork, advised_for_children(MADV_DONTFORK, -SIGSEGV))
CASE(row04_wipeonfork_and_fork, advised_for_children(MADV_WIPEONFORK, 3))

/* Slices of one large block, of which some release their pages. */
TEST_AFTER(row28_an_allocator_in_a_block, begin())
{
	const size_t slice = 2 * MIB, slices = 16;

	char *arena = hot(slices * slice + PAGE), *at = inner(arena);

	for (unsigned round = 0; round < 8 && check_failures == 0; round++) {
		for (size_t i = 0; i < slices; i++) {
			char *mine = at + i * slice;

			fill(mine, slice, round + (unsigned)i);
			OK(cu.cuMemcpyHtoDAsync_v2(there, mine, slice, stream));
			memset(mine, 0, slice);
			OK(cu.cuMemcpyDtoHAsync_v2(mine, there, slice, stream));
			CHECK(holds(mine, slice, round + (unsigned)i));
			if ((i + round) % 3 == 0) {
				CHECK_EQ(madvise(mine, slice, MADV_DONTNEED), 0);
				CHECK(mine[0] == 0 && mine[slice - 1] == 0);
				OK(cu.cuMemcpyDtoH_v2(mine, there, slice));
				CHECK(holds(mine, slice, round + (unsigned)i));
			}
		}
	}
	free(arena);
}
