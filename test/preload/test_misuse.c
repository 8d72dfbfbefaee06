/*
 * test_misuse.c - the program frees a block twice, or frees an address that is no block: it dies as
 * without the library, and no other block is damaged.
 *
 * glibc stores the length to unmap in the sixteen bytes before a large block.  The bytes before an
 * address inside one of our blocks are data of the program.
 *
 * One case cannot be detected, in glibc as well: an address is freed a second time after a new
 * block began there.  The new block is freed.
 */
#include "preload.h"
#include "sizes.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>

void __libc_free(void *address);
void *__libc_realloc(void *address, size_t bytes);

/* volatile, so that the compiler cannot replace the calls. */
static void *(*volatile my_malloc)(size_t) = malloc;
static void *(*volatile my_realloc)(void *, size_t) = realloc;
static void (*volatile my_free)(void *) = free;
static char *volatile kept;

static char said[1024], logged[1024];

/* Our messages go to a file, because the program may have replaced stderr. */
#define LOG "HOTPIN_LOG_FILE=$TEST_FOLDER/log"

static void read_log(void)
{
	static off_t seen;

	int log = open(check_path("log"), O_RDONLY);
	ssize_t got = log >= 0 ? pread(log, logged, sizeof(logged) - 1, seen) : 0;
	logged[got > 0 ? got : 0] = '\0';
	seen += got > 0 ? got : 0;
	close(log);
}

/*
 * Returns the signal by which `act` ends in a process of its own, 0 if none; `said` is its stderr.
 */
static int ends_by(void (*act)(void))
{
	int ends[2], status = 0;
	size_t got = 0;

	CHECK(pipe(ends) == 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		static const struct rlimit none;

		setrlimit(RLIMIT_CORE, &none);
		dup2(ends[1], STDERR_FILENO);
		act();
		_exit(0);
	}
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], said + got, sizeof(said) - 1 - got)) > 0;)
		got += (size_t)n;
	said[got] = '\0';
	close(ends[0]);
	waitpid(child, &status, 0);
	read_log();
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* Expects the same end as without the library, with libc's message `words`, and ours. */
static void dies(void (*act)(void), const char *ours, const char *words)
{
	int signal = ends_by(act);

	if (!preloaded()) {
		CHECK(signal == SIGSEGV || signal == SIGABRT);
		return;
	}
	if (CHECK_EQ(signal, SIGABRT) && CHECK(strstr(said, words) != NULL) &&
	    CHECK(strstr(logged, " error: ") != NULL) && CHECK(strstr(logged, ours) != NULL))
		return;
	printf("# it said: %s, and we: %s\n", said, logged);
}

#define NOT_A_BLOCK "not the start of an allocated block; was it freed twice?"

/* Each of them is a faulty program with one block. */
#define PROGRAM(id, ...)                          \
	static void id(void)                      \
	{                                         \
		char *block = my_malloc(4 * MIB); \
                                                  \
		memset(block, 0, 4 * MIB);        \
		__VA_ARGS__;                      \
	}
PROGRAM(free_twice, my_free(block); my_free(block))
PROGRAM(free_inside, my_free(block + 2 * MIB + 24))
PROGRAM(free_inside_a_freed_one, kept = my_malloc(MIB); my_free(block); my_free(block + MIB))
PROGRAM(realloc_freed, my_free(block); kept = my_realloc(block, 8 * MIB))
PROGRAM(realloc_freed_to_little, my_free(block); kept = my_realloc(block, 100))
PROGRAM(realloc_inside, kept = my_realloc(block + MIB + 8, 2 * MIB))
PROGRAM(realloc_freed_to_nothing, my_free(block); kept = my_realloc(block, 0))
PROGRAM(inner_free_twice, __libc_free(block); __libc_free(block))

/* By the second time its addresses are free. */
static void free_twice_late(void)
{
	char *block = my_malloc(90 * MIB);

	memset(block, 1, 90 * MIB);
	my_free(block);
	for (int i = 0; i < 20; i++)
		my_free(my_malloc(MIB << i % 5));
	my_free(block);
}

TEST_WITH(bad_addresses, LOG)
{
	dies(free_twice, "free(0x", "free(): invalid pointer");
	CHECK(!preloaded() || strstr(logged, NOT_A_BLOCK) != NULL);
	dies(free_twice_late, NOT_A_BLOCK, "free(): invalid pointer");
	dies(free_inside, NOT_A_BLOCK, "free(): invalid pointer");
	dies(free_inside_a_freed_one, NOT_A_BLOCK, "free(): invalid pointer");
	dies(realloc_freed, "realloc(0x", "realloc(): invalid pointer");
	dies(realloc_freed_to_little, NOT_A_BLOCK, "realloc(): invalid pointer");
	dies(realloc_inside, NOT_A_BLOCK, "realloc(): invalid pointer");
	dies(realloc_freed_to_nothing, NOT_A_BLOCK, "free(): invalid pointer");
	dies(inner_free_twice, NOT_A_BLOCK, "free(): invalid pointer");
}

CASE_WITH(bad_addresses_in_silence, ("HOTPIN_LOG=error", LOG),
	  dies(free_twice, NOT_A_BLOCK, "free(): invalid pointer"))

/*
 * These bytes look to glibc like the header of a mapped block of a page: glibc unmaps that page,
 * and the program continues without it.
 */
static char *hostile(size_t bytes)
{
	void *block = NULL;

	CHECK_EQ(posix_memalign(&block, 4 * KIB, bytes), 0);
	for (size_t at = 0; at < bytes; at += 16) {
		memcpy((char *)block + at, &(uint64_t){ 0 }, 8);
		memcpy((char *)block + at + 8, &(uint64_t){ 4096 | 2 }, 8);
	}
	return block;
}

static void free_among_hostile(void)
{
	char *block = hostile(4 * MIB);

	my_free(block + MIB + 16);
	fprintf(stderr, "went on\n");
	kept = block + MIB;
	*(volatile char *)kept = 1;
}

static void realloc_among_hostile(void)
{
	char *block = hostile(4 * MIB);

	kept = my_realloc(block + MIB + 16, 3 * MIB);
	fprintf(stderr, "went on\n");
	kept = block + MIB;
	*(volatile char *)kept = 1;
}

/* The freed block follows a neighbor that ends with such bytes. */
static void free_twice_during_hostile(void)
{
	void *blocks[16];

	for (int i = 0; i < 16; i++)
		blocks[i] = hostile(64 * KIB * 5);
	my_free(blocks[7]);
	my_free(blocks[7]);
	fprintf(stderr, "went on\n");
	for (int i = 0; i < 16; i++)
		for (size_t at = 0; i != 7 && at < 64 * KIB * 5; at += 4096)
			((volatile char *)blocks[i])[at] = 1;
}

TEST_WITH(hostile_neighbors, LOG)
{
	int signal = ends_by(free_among_hostile);

	CHECK_EQ(signal, preloaded() ? SIGABRT : SIGSEGV);
	CHECK_EQ(strstr(said, "went on") != NULL, !preloaded());
	signal = ends_by(realloc_among_hostile);
	CHECK_EQ(signal, preloaded() ? SIGABRT : SIGSEGV);
	CHECK_EQ(strstr(said, "went on") != NULL, !preloaded());
	dies(free_twice_during_hostile, NOT_A_BLOCK, "free(): invalid pointer");
	CHECK(strstr(said, "went on") == NULL);
}

/* The next allocator may abort or continue, but must not damage anything. */
TEST(usable_size_of_nothing)
{
	char *block = my_malloc(4 * MIB);

	if (!preloaded())
		CHECK_SKIP("natively it reads what stands in front");
	CHECK_EQ(malloc_usable_size(block + MIB), 0);
	my_free(block);
	CHECK_EQ(malloc_usable_size(block), 0);
}

/* Other names of free() and realloc(). */
TEST(inner_names)
{
	for (size_t n = 100; n < 8 * MIB; n *= 20) {
		char *block = my_malloc(n);

		memset(block, 7, n);
		block = __libc_realloc(block, n * 2);
		CHECK(block[0] == 7 && block[n - 1] == 7);
		__libc_free(block);
		block = __libc_realloc(NULL, n);
		memset(block, 7, n);
		my_free(block);
		block = my_malloc(n);
		CHECK(__libc_realloc(block, 0) == NULL);
		__libc_free(NULL);
	}
}

TEST(names_of_other_centuries)
{
	static const char *const names[] = { "cfree", "free_sized", "free_aligned_sized" };

	for (int i = 0; i < 3; i++) {
		void (*give)(void *, size_t, size_t) =
			(void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, names[i]);

		CHECK(!preloaded() || give != NULL);
		for (size_t n = 100; n < 8 * MIB && give != NULL; n *= 20) {
			void *block = NULL;

			CHECK_EQ(posix_memalign(&block, 64, n), 0);
			memset(block, 7, n);
			give(block, i == 1 ? n : 64, n);
		}
	}
}

/* The heap is closed, and its holes belong to libc: blocks that libc maps there are libc's. */
TEST(addresses_that_were_ours)
{
	struct rlimit limit = { (rlim_t)4 << 30, (rlim_t)4 << 30 };
	void *ours[40], *theirs[40];

	for (int i = 0; i < 40; i++)
		memset(ours[i] = my_malloc(8 * MIB), i, 8 * MIB);
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	for (int i = 0; i < 40; i += 2)
		my_free(ours[i]);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 40; i++)
			memset(theirs[i] = my_malloc(MIB + i * 4096), i, MIB);
		for (int i = 0; i < 40; i++) {
			CHECK(malloc_usable_size(theirs[i]) >= MIB);
			theirs[i] = my_realloc(theirs[i], 3 * MIB);
			CHECK(((char *)theirs[i])[MIB - 1] == (char)i);
			my_free(theirs[i]);
		}
	}
	/* The kernel chooses where libc maps; this imitates the choice of such a hole. */
	char *page = (char *)(((uintptr_t)ours[20] + MIB) & -4096ul);
	CHECK(mmap(page, MIB, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == page);
	((size_t *)page)[1] = MIB | 2; /* glibc's header of a mapped block */
	my_free(page + 16);
	CHECK(msync(page, MIB, MS_ASYNC) == -1 && errno == ENOMEM);
	for (int i = 1; i < 40; i += 2) {
		CHECK(((char *)ours[i])[8 * MIB - 1] == (char)i);
		my_free(ours[i]);
	}
}

/* The program unmaps the middle of a block, and libc maps one there. */
TEST(a_hole_that_the_program_made)
{
	void *block = NULL, *theirs[64];

	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	CHECK_EQ(posix_memalign(&block, 64 * KIB, 32 * MIB), 0);
	CHECK_EQ(munmap((char *)block + MIB, 16 * MIB), 0);
	for (int i = 0; i < 64; i++)
		memset(theirs[i] = my_malloc(200 * KIB), i, 200 * KIB);
	for (int i = 0; i < 64; i++) {
		CHECK(malloc_usable_size(theirs[i]) >= 200 * KIB);
		my_free(theirs[i]);
	}
	my_free(block);
}

PRELOAD_MAIN()
