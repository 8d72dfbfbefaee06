/*
 * malloc_stress.c - compares the allocation functions of this process with a model.
 *
 * It does not know which library provides them: it runs plainly and with something preloaded.
 * `--help` lists the options; see run.
 */
#include "walk.h"
#include "preload.h"
#include "memory.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Refusing less than this is a failure; for more, memory may really be short. */
#define MAY_BE_REFUSED (256 * MIB)
/* Steps of all threads from one fork to the next. */
#define FORK_EVERY     1500
#define STEPS_IN_CHILD 100

#define LEAK_BYTES     (3 * MIB)
#define LEAK_TURNS     150

#define CROWD          6
#define CROWD_FORKS    20

extern char **environ;

static _Atomic uint64_t refused;
static _Atomic bool crowd_stops;
static uint64_t forks, spawns;

/* volatile, so that compilers do not apply their knowledge of malloc(). */
static __thread void *volatile kept_from_compiler;
static const volatile size_t too_much = (size_t)PTRDIFF_MAX + 1, nearly_all = SIZE_MAX,
			     product = (size_t)1 << 33;

/* Functions that allocate; those without alignment ignore it. */

static void *ask_malloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return malloc(bytes);
}

/* The alignment is the size of an element.  If it does not divide `bytes`, fewer are allocated. */
static void *ask_calloc(size_t bytes, size_t each)
{
	return calloc(bytes / each, each);
}

static void *ask_realloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return realloc(NULL, bytes);
}

static void *ask_reallocarray(size_t bytes, size_t alignment)
{
	(void)alignment;
	return reallocarray(NULL, bytes, 1);
}

static void *ask_memalign(size_t bytes, size_t alignment)
{
	return memalign(alignment, bytes);
}

static void *ask_aligned_alloc(size_t bytes, size_t alignment)
{
	/* C asks for a multiple of the alignment, and so does AddressSanitizer; glibc does not. */
	return aligned_alloc(alignment, SANITIZED ? (bytes + alignment - 1) & -alignment : bytes);
}

static void *ask_posix_memalign(size_t bytes, size_t alignment)
{
	void *block = NULL;
	int error = posix_memalign(&block, alignment, bytes);

	if (error != 0)
		errno = error;
	return block;
}

static void *ask_valloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return valloc(bytes);
}

static void *ask_pvalloc(size_t bytes, size_t alignment)
{
	(void)alignment;
	return pvalloc(bytes);
}

static void expect_refusal(size_t bytes)
{
	if (errno != ENOMEM || bytes < MAY_BE_REFUSED)
		walk_fail("%zu bytes refused: %s", bytes, strerror(errno));
	refused++;
}

static size_t usable(void *address, size_t bytes)
{
	(void)bytes;
	return malloc_usable_size(address);
}

static void do_alloc(struct walker *walker)
{
	struct slot *slot = walk_slot(walker);

	if (slot == NULL)
		return;
	size_t bytes = walk_size(walker);
	void *block = walk_ask(walker, slot, bytes, 0);
	if (block != NULL)
		walk_adopt(walker, slot, block, bytes, 0);
}

static void do_calloc(struct walker *walker)
{
	static const size_t sizes[] = { 1, 2, 3, 8, 24, 100, 4096, 65536 };
	struct slot *slot = walk_slot(walker);

	if (slot == NULL)
		return;
	size_t bytes = walk_size(walker), each = sizes[walk_random(walker) % 8];
	if (each > bytes)
		each = 1;
	char *block = walk_ask(walker, slot, bytes, each);
	if (block == NULL)
		return;
	bytes -= bytes % each;

	/* A large block is only sometimes read completely, because that creates its pages. */
	bool all = bytes <= 512 * KIB || (bytes <= 32 * MIB && walk_random(walker) % 16 == 0);
	if (!pattern_is_zero(block, bytes, 1 + bytes / (64 * MIB), all))
		walk_fail("calloc of %zu bytes is not zero", bytes);
	walk_adopt(walker, slot, block, bytes, 0);
}

static void do_aligned(struct walker *walker)
{
	struct slot *slot = walk_slot(walker);

	if (slot == NULL)
		return;
	/* Up to 8 MiB, and mostly small. */
	size_t least = walk_ask_of(walker) == ask_posix_memalign ? sizeof(void *) : 1;
	size_t alignment = (size_t)1 << walk_random(walker) % (walk_random(walker) % 4 ? 14 : 24);
	if (alignment < least)
		alignment = least;
	size_t bytes = walk_size(walker);
	void *block = walk_ask(walker, slot, bytes, alignment);
	if (block != NULL)
		walk_adopt(walker, slot, block, bytes, alignment);
}

static void do_pages(struct walker *walker)
{
	struct slot *slot = walk_slot(walker);

	if (slot == NULL)
		return;
	size_t bytes = walk_size(walker);
	void *block = walk_ask(walker, slot, bytes, PAGE);
	/* Bytes up to the size that pvalloc() rounds up to may be used. */
	if (walk_ask_of(walker) == ask_pvalloc)
		bytes = (bytes + PAGE - 1) / PAGE * PAGE;
	if (block != NULL)
		walk_adopt(walker, slot, block, bytes, PAGE);
}

static void free_keeping_errno(void *address)
{
	errno = 4711;
	free(address);
	if (errno != 4711)
		walk_fail("free(%p) left errno %d", address, errno);
}

static void do_free_of_nothing(struct walker *walker)
{
	(void)walker;
	free_keeping_errno(NULL);
}

static void resize(struct walker *walker, bool as_array)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	struct held before = slot->held;
	size_t bytes = walk_size(walker);
	if (walk_random(walker) % 2)
		bytes = before.pattern.bytes / 2 + bytes % (before.pattern.bytes + 1) + 1;
	walk_disown(walker, slot);
	errno = 0;
	void *block =
		as_array ? reallocarray(before.address, 1, bytes) : realloc(before.address, bytes);
	if (block != NULL) {
		walk_check(&before, block, bytes);
		walk_adopt(walker, slot, block, bytes, 0);
		return;
	}
	expect_refusal(bytes);
	walk_check(&before, before.address, before.pattern.bytes);
	walk_adopt(walker, slot, before.address, before.pattern.bytes, 0);
}

static void do_realloc(struct walker *walker)
{
	resize(walker, false);
}

static void do_reallocarray(struct walker *walker)
{
	resize(walker, true);
}

/* With glibc this frees the block. */
static void do_realloc_to_nothing(struct walker *walker)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	walk_disown(walker, slot);
	kept_from_compiler = realloc(slot->held.address, 0);
	if (kept_from_compiler != NULL)
		walk_fail("realloc(%p, 0) is %p", (void *)slot->held.address, kept_from_compiler);
	walk_forget(slot);
}

/* The usable size is unchanged, and the block has its contents. */
static void do_look(struct walker *walker)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	const struct held *held = &slot->held;
	if (malloc_usable_size(held->address) != held->usable)
		walk_fail("%zu bytes usable at %p, first it was %zu",
			  malloc_usable_size(held->address), (void *)held->address, held->usable);
	walk_check(held, held->address, held->pattern.bytes);
	walk_keep(slot);
	if (malloc_usable_size(NULL) != 0)
		walk_fail("NULL has a usable size");
}

#define REFUSED(call)                                                                    \
	do {                                                                             \
		errno = 0;                                                               \
		kept_from_compiler = (call);                                             \
		if (kept_from_compiler != NULL || errno != ENOMEM)                       \
			walk_fail("%s: %p, errno %d", #call, kept_from_compiler, errno); \
	} while (0)

static void do_absurd(struct walker *walker)
{
	struct slot *slot = walk_any(walker);
	void *untouched = &slot;

	REFUSED(malloc(too_much));
	REFUSED(malloc(nearly_all));
	REFUSED(calloc(too_much / 2, 3));
	REFUSED(calloc(product, product));
	REFUSED(realloc(NULL, too_much));
	REFUSED(reallocarray(NULL, too_much, 2));
	REFUSED(memalign(64, too_much));
	REFUSED(aligned_alloc(4096, nearly_all - 4095));
	REFUSED(valloc(nearly_all));
	REFUSED(pvalloc(nearly_all));
	if (posix_memalign(&untouched, 64, too_much) != ENOMEM || untouched != &slot ||
	    posix_memalign(&untouched, 24, 100) != EINVAL || untouched != &slot ||
	    posix_memalign(&untouched, 4, 100) != EINVAL || untouched != &slot)
		walk_fail("posix_memalign: not refused, or the pointer was written");
	if (slot == NULL)
		return;
	REFUSED(realloc(slot->held.address, too_much));
	REFUSED(reallocarray(slot->held.address, too_much, 2));
	walk_check(&slot->held, slot->held.address, slot->held.pattern.bytes);
	walk_keep(slot);
}

/* clang-format off */
static const struct walk_kind kinds[] = {
	{ "malloc",            260, do_alloc, ask_malloc },
	{ "calloc",            100, do_calloc, ask_calloc },
	{ "realloc",            90, do_realloc, NULL },
	{ "reallocarray",       30, do_reallocarray, NULL },
	{ "free",              240, walk_free, NULL },
	{ "again",              60, walk_again, ask_malloc },
	{ "memalign",           20, do_aligned, ask_memalign },
	{ "aligned_alloc",      20, do_aligned, ask_aligned_alloc },
	{ "posix_memalign",     30, do_aligned, ask_posix_memalign },
	{ "valloc",             10, do_pages, ask_valloc },
	{ "pvalloc",            10, do_pages, ask_pvalloc },
	{ "usable size",        30, do_look, NULL },
	{ "realloc(NULL)",      10, do_alloc, ask_realloc },
	{ "reallocarray(NULL)", 10, do_alloc, ask_reallocarray },
	{ "realloc(0)",          8, do_realloc_to_nothing, NULL },
	{ "free(NULL)",          2, do_free_of_nothing, NULL },
	{ "absurd",              2, do_absurd, NULL },
	{ "sent",              130, walk_send, NULL },
	{ "received",          130, walk_receive, NULL },
	{ NULL, 0, NULL, NULL },
};
/* clang-format on */

/* In the child of a fork during the walk: all blocks, of any owner, are right. */
static void be_child(void)
{
	alarm(check_limit(120));
	walk_alone(STEPS_IN_CHILD);
	walk_restart(2, STEPS_IN_CHILD);
	walk_check_all();
	_exit(0);
}

static void expect_success(pid_t child, const char *what)
{
	int status = -1;

	if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
		walk_fail("%s: status %x", what, (unsigned)status);
}

/* With a sanitizer's allocator behind ours, the child may wait for a lock that a thread held. */
static bool forks_work(void)
{
	return !preload_is_linked();
}

static void fork_in_the_middle(void)
{
	pid_t child = fork();

	if (child == 0)
		be_child();
	expect_success(child, "child of fork()");
	forks++;
}

static void free_it(void *block)
{
	free(block);
}

static void resize_it_to_nothing(void *block)
{
	kept_from_compiler = realloc(block, 0);
}

static void resize_it_up_and_free(void *block)
{
	free(realloc(block, LEAK_BYTES * 5 / 2));
}

static void resize_it_down_and_free(void *block)
{
	free(realloc(block, 300 * KIB));
}

/* Blocks that are freed in any way serve the next allocation. */
static void look_for_leaks(void)
{
	static void (*const ways[])(void *) = { free_it, resize_it_to_nothing,
						resize_it_up_and_free, resize_it_down_and_free };
	size_t before = memory_resident();

	for (unsigned way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		for (int i = 0; i < LEAK_TURNS; i++) {
			char *block = malloc(LEAK_BYTES);

			if (block == NULL)
				walk_fail("no block of %zu bytes", LEAK_BYTES);
			memset(block, 1, LEAK_BYTES);
			ways[way](block);
		}
		if (memory_resident() > before + LEAK_TURNS / 2 * LEAK_BYTES)
			walk_fail("%zu MiB resident, they were %zu (way %u)",
				  memory_resident() / MIB, before / MIB, way);
	}
}

static void spawn_in_the_middle(void)
{
	char *const words[] = { (char *)"true", NULL };
	pid_t child;

	if (spawns++ % 2 == 0) {
		int error = posix_spawnp(&child, "true", NULL, NULL, words, environ);

		expect_success(error == 0 ? child : -1, "posix_spawnp()");
		return;
	}
	child = vfork();
	if (child == 0) {
		execvp("true", words);
		_exit(127);
	}
	expect_success(child, "vfork() and execvp()");
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* No two turns have the same sizes: each lock is taken by some thread. */
static void use_memory(unsigned from, unsigned turns)
{
	for (unsigned i = from; i < from + turns; i++) {
		char *block = malloc(200 * KIB + i % 97 * 8 * KIB), *small = malloc(1 + i % 977);

		if (block == NULL || small == NULL)
			walk_fail("no block of %zu bytes", 200 * KIB + i % 97 * 8 * KIB);
		block[0] = small[0] = 1;
		free(block);
		free(small);
	}
}

static void *be_one_of_many(void *arg)
{
	for (unsigned turn = (unsigned)(uintptr_t)arg * 7; !crowd_stops; turn++)
		use_memory(turn, 1);
	return NULL;
}

/* A small process can fork often: sometimes while a thread has just taken a lock. */
static void fork_during_a_crowd(void)
{
	pthread_t threads[CROWD];

	for (uintptr_t i = 0; i < CROWD; i++)
		if (pthread_create(&threads[i], NULL, be_one_of_many, (void *)i) != 0)
			walk_fail("no thread");
	for (int i = 0; i < CROWD_FORKS; i++) {
		pid_t child = fork();

		if (child == 0) {
			alarm(check_limit(60));
			use_memory(0, 40);
			_exit(0);
		}
		expect_success(child, "child of fork() during a crowd");
		forks++;
	}
	crowd_stops = true;
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	walk_options.kinds = kinds;
	walk_options.give = free_keeping_errno;
	walk_options.usable = usable;
	walk_options.refuse = expect_refusal;
	walk_parse(argc, argv);
	walk_begin();
	alarm(check_limit(walk_options.seconds * 4 + 600));
	/* The plan comes first, so that ending early is a failure. */
	printf("1..1\n");
	fflush(stdout);

	if (forks_work())
		fork_during_a_crowd();
	uint64_t begun = now_ms(), end = begun + walk_options.seconds * (uint64_t)1000;
	walk_start();
	while (!walk_is_over() && (walk_options.seconds == 0 || now_ms() < end)) {
		walk_await(FORK_EVERY);
		if (forks_work())
			fork_in_the_middle();
		spawn_in_the_middle();
	}
	walk_stop();
	size_t left = walk_drop_all();
	if (walk_touched != 0)
		walk_fail("%zu bytes were lost", walk_touched);
	walk_report();
	malloc_trim(0);
	look_for_leaks();
	printf("# %zu MiB resident at the end\n", memory_resident() / MIB);
	printf("# %llu forks, %llu spawned, %llu refusals, %zu blocks at the end, %.1f s\n",
	       (unsigned long long)forks, (unsigned long long)spawns, (unsigned long long)refused,
	       left, (double)(now_ms() - begun) / 1000);
	printf("ok 1 - every block held what was written to it\n");
	return 0;
}
