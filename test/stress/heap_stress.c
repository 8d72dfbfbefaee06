/*
 * heap_stress.c - compares the heap with a model, in one process: for sanitizers, and for functions
 * that no program can call.
 *
 * Threads make random steps while one of them checks every structure, lets blocks expire and
 * reclaims memory.  Then the heap closes, and they continue.
 */
#include "base/clock.h"
#include "base/lock.h"
#include "heap/heap.h"
#include "heap/map.h"
#include "heap/reclaim.h"
#include "heap/huge_pages.h"

#include "check.h"
#include "heap_check.h"
#include "walk.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

/* Sizes of the blocks that many threads want. */
#define SAME  (256 * KIB)
#define SIZES 11

/* The lower half have blocks that suit 2 MiB pages; nothing is known of the first. */
#define SITES 8

static _Atomic bool closed, checking;
static _Atomic uint64_t refused;

/* Allocates.  NULL only after the heap was closed, and errno never changes. */
static void *heap_or_nothing(size_t bytes, size_t alignment, bool zeroed)
{
	bool was_closed = closed;

	errno = 4711;
	void *block = heap_alloc(bytes, alignment, zeroed, (uint32_t)(bytes % SITES));
	if (errno != 4711)
		walk_fail("heap_alloc(%zu) left errno %d", bytes, errno);
	if (block == NULL && !was_closed && !closed)
		walk_fail("no block of %zu bytes", bytes);
	return block;
}

static void *ask_plain(size_t bytes, size_t alignment)
{
	return heap_or_nothing(bytes, alignment, false);
}

static void *ask_zeroed(size_t bytes, size_t alignment)
{
	return heap_or_nothing(bytes, alignment, true);
}

static void refuse(size_t bytes)
{
	(void)bytes;
	refused++;
}

static void check_range(const char *block, size_t bytes)
{
	const struct block *found = range_find(block + bytes - 1);

	if (!heap_owns(block) || found == NULL || found->start != (uintptr_t)block ||
	    found->base + found->room < (uintptr_t)block + bytes ||
	    !heap_touches(block - 4096, 4097) || !range_covers(found, block, bytes))
		walk_fail("the map does not know the block of %zu bytes at %p", bytes,
			  (const void *)block);
}

static size_t usable(void *block, size_t bytes)
{
	size_t found = heap_usable(block);

	if (found < bytes)
		walk_fail("%zu bytes usable of %zu", found, bytes);
	check_range(block, bytes);
	check_range(block, found);
	return found;
}

static void allocate(struct walker *walker, size_t alignment)
{
	struct slot *slot = walk_slot(walker);

	if (slot == NULL)
		return;
	size_t bytes = walk_size(walker);
	char *block = walk_ask(walker, slot, bytes, alignment);
	if (block == NULL)
		return;
	if (walk_ask_of(walker) == ask_zeroed &&
	    !pattern_is_zero(block, bytes, 1 + bytes / (64 * MIB), bytes <= 128 * KIB))
		walk_fail("%zu bytes at %p are not zero", bytes, (void *)block);
	walk_adopt(walker, slot, block, bytes, alignment);
}

static void do_alloc(struct walker *walker)
{
	allocate(walker, 0);
}

static void do_alloc_aligned(struct walker *walker)
{
	allocate(walker, (size_t)1 << walk_random(walker) % 13);
}

static void give(void *address)
{
	errno = 4711;
	if (heap_free(address) != 0)
		walk_fail("%p cannot be freed", address);
	if (errno != 4711)
		walk_fail("heap_free(%p) left errno %d", address, errno);
}

/* Resizes as realloc() does: in place, otherwise by moving pages, otherwise not. */
static void resize(struct walker *walker, bool in_place)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	struct held before = slot->held;
	size_t bytes = walk_size(walker);
	if (walk_random(walker) % 2)
		bytes = before.pattern.bytes + bytes % (before.pattern.bytes + 1);
	char *block = before.address;
	walk_disown(walker, slot);
	bool done = in_place && heap_resize(block, bytes);
	if (!done && !in_place) {
		block = heap_move(block, bytes);
		done = block != NULL;
		block = done ? block : before.address;
	}
	if (!done)
		bytes = before.pattern.bytes;
	walk_check(&before, block, bytes);
	walk_adopt(walker, slot, block, bytes, 0);
}

static void do_resize(struct walker *walker)
{
	resize(walker, true);
}

static void do_move(struct walker *walker)
{
	resize(walker, false);
}

/* An address that is not the start of a block in use is refused, and the block stays unchanged. */
static void do_misuse(struct walker *walker)
{
	struct slot *slot = walk_any(walker);

	if (slot == NULL)
		return;
	const struct held *held = &slot->held;
	char *inside = held->address + 1 + walk_random(walker) % (held->usable - 1);
	if (heap_free(inside) != -EINVAL || heap_usable(inside) != 0 || heap_resize(inside, MIB) ||
	    heap_move(inside, 64 * MIB) != NULL)
		walk_fail("%p is inside a block, but was taken for one", (void *)inside);
	if (heap_usable(held->address) != held->usable)
		walk_fail("%zu bytes usable, first it was %zu", heap_usable(held->address),
			  held->usable);
	walk_check(held, held->address, held->pattern.bytes);
	walk_keep(slot);
}

/* clang-format off */
static const struct walk_kind kinds[] = {
	{ "alloc",         200, do_alloc, ask_plain },
	{ "alloc zeroed",  100, do_alloc, ask_zeroed },
	{ "alloc aligned",  40, do_alloc_aligned, ask_plain },
	{ "aligned zeroed", 40, do_alloc_aligned, ask_zeroed },
	{ "free",          260, walk_free, NULL },
	{ "again",         100, walk_again, ask_plain },
	{ "resize",        100, do_resize, NULL },
	{ "move",           60, do_move, NULL },
	{ "misuse",         10, do_misuse, NULL },
	{ "sent",          100, walk_send, NULL },
	{ "received",      100, walk_receive, NULL },
	{ NULL, 0, NULL, NULL },
};
/* clang-format on */

static _Atomic uint64_t crowd_steps;

static uint64_t steps_of_all(void)
{
	return walk_steps() + crowd_steps;
}

/* Makes everything else that happens to a heap. */
static void *look_after(void *arg)
{
	static const enum pressure_level levels[] = { PRESSURE_NONE, PRESSURE_SOME, PRESSURE_NONE,
						      PRESSURE_SEVERE };
	size_t live, kept;
	(void)arg;

	for (unsigned round = 0; checking; round++) {
		int failed = heap_check();

		if (failed != 0)
			walk_fail("heap_check: line %d", failed);
		heap_stats(&live, &kept);
		/* As if seconds had passed. */
		if (round % 8 == 0)
			heap_expire(hp_now_ns() + round % 3 * 1000000000u);
		if (round % 32 == 0)
			heap_set_level(levels[round / 32 % 4]);
		if (round % 50 == 25)
			heap_set_device(round % 100 == 25);
		/* The check delays all others: they continue before the next one. */
		for (uint64_t until = steps_of_all() + 64; checking && steps_of_all() < until;)
			check_pause(0);
	}
	heap_set_level(PRESSURE_NONE);
	return NULL;
}

static void start_all(pthread_t *keeper, size_t size_most, size_t touched_most)
{
	heap_start();
	for (uint32_t site = 1; site < SITES / 2; site++)
		huge_note_site(site, SITE_DENSE);
	walk_options = (struct walk_options){
		.seed = walk_options.seed,
		.threads = 8,
		.touched_most = touched_most,
		.page = 2 * MIB,
		.pages_most = 8,
		.size_least = 64 * KIB,
		.size_most = size_most,
		.kinds = kinds,
		.give = give,
		.usable = usable,
		.refuse = refuse,
	};
	walk_begin();
	checking = true;
	CHECK_EQ(pthread_create(keeper, NULL, look_after, NULL), 0);
	walk_start();
}

static void stop_all(pthread_t keeper)
{
	size_t live, kept;

	walk_stop();
	checking = false;
	pthread_join(keeper, NULL);
	walk_drop_all();
	CHECK_EQ(walk_touched, 0);
	CHECK_EQ(heap_check(), 0);
	heap_stats(&live, &kept);
	CHECK_EQ(live, 0);
	heap_set_level(PRESSURE_SEVERE);
	heap_stats(&live, &kept);
	CHECK_EQ(kept, 0);
	walk_report();
}

TEST(walk_with_all_that_happens)
{
	pthread_t keeper;

	start_all(&keeper, 64 * MIB, GIB);
	walk_await(1500);
	stop_all(keeper);
	CHECK_EQ(refused, 0);
}

/* Cheap operations, so that the threads meet in the heap. */
TEST(many_small_blocks)
{
	pthread_t keeper;

	start_all(&keeper, 320 * KIB, GIB);
	walk_await(20000);
	stop_all(keeper);
	CHECK_EQ(refused, 0);
}

#define CROWD       48

#define CROWD_STEPS 6000

/* The owner of a block writes its own word into it, and finds it there. */
static void *be_one_of_many(void *arg)
{
	uint64_t word = (uint64_t)(uintptr_t)arg + 1;

	for (uint64_t steps = 0; steps < CROWD_STEPS; steps++) {
		/* Each thread wants another size for a while, so that slots change owners. */
		size_t bytes = SAME + (steps / 40 + word) % SIZES * 96 * KIB;
		_Atomic uint64_t *block = heap_alloc(bytes, 64, false, 0);

		if (block == NULL || (uintptr_t)block % 64 != 0 || heap_usable(block) < bytes)
			walk_fail("no block of %zu bytes, or a crooked one", bytes);
		uint64_t found = atomic_exchange(block, word);
		if (found != 0)
			walk_fail("block at %p is %llu's already", (void *)block,
				  (unsigned long long)found);
		if (steps % 8 == 0)
			sched_yield();
		if (atomic_exchange(block, 0) != word || heap_free(block) != 0)
			walk_fail("block at %p is another's, too", (void *)block);
		if (steps % 64 == 0)
			crowd_steps += 64;
	}
	return NULL;
}

/* More threads than slots, all with blocks of the same few sizes. */
TEST(a_few_sizes_for_all)
{
	pthread_t threads[CROWD], keeper;
	size_t live, kept;

	heap_start();
	walk_options.kinds = kinds;
	checking = true;
	CHECK_EQ(pthread_create(&keeper, NULL, look_after, NULL), 0);
	for (uintptr_t i = 0; i < CROWD; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, be_one_of_many, (void *)i), 0);
	for (int i = 0; i < CROWD; i++)
		pthread_join(threads[i], NULL);
	checking = false;
	pthread_join(keeper, NULL);
	CHECK_EQ(heap_check(), 0);
	heap_set_level(PRESSURE_SEVERE);
	heap_stats(&live, &kept);
	CHECK_EQ(live, 0);
	CHECK_EQ(kept, 0);
}

static int be_child(void)
{
	alarm(check_limit(60));
	CHECK_EQ(heap_check(), 0);
	walk_alone(100);
	CHECK_EQ(heap_check(), 0);
	return check_failures != 0;
}

TEST(fork_in_the_middle)
{
	pthread_t keeper;

	/* Each fork makes all touched pages copy-on-write, so few are touched. */
	pthread_atfork(hp_locks_before_fork, hp_locks_after_fork_parent, hp_locks_after_fork_child);
	start_all(&keeper, 4 * MIB, 64 * MIB);
	for (int i = 0; i < 10; i++) {
		int status = -1;

		walk_await(400);
		pid_t child = fork();
		if (child == 0)
			_exit(be_child());
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	stop_all(keeper);
}

TEST(closed_in_the_middle)
{
	pthread_t keeper;
	size_t live, kept;

	start_all(&keeper, 64 * MIB, GIB);
	walk_await(1000);
	closed = true;
	heap_close();
	walk_await(4000);
	stop_all(keeper);
	CHECK(refused > 0);
	heap_stats(&live, &kept);
	CHECK_EQ(kept, 0);
}

CHECK_MAIN()
