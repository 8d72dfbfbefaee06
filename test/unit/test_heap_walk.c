/*
 * test_heap_walk.c - the heap against a shadow model: random walks, threads, fork.
 */
#include "base/lock.h"
#include "heap/heap.h"
#include "heap/map.h"

#include "check.h"
#include "heap_check.h"
#include "random.h"
#include "sizes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* The expected state of one block. */
struct shadow {
	char *address;
	size_t bytes;
	size_t step; /* distance between marks */
	uint64_t mark;
};

static uint64_t mark_at(const struct shadow *shadow, size_t at)
{
	return shadow->mark ^ at * 0x9e3779b97f4a7c15u;
}

static void write_marks(const struct shadow *shadow)
{
	for (size_t at = 0; at + 8 <= shadow->bytes; at += shadow->step)
		*(uint64_t *)(shadow->address + at) = mark_at(shadow, at);
}

/* True if the first `bytes` still carry the marks. */
static bool marks_hold(const struct shadow *shadow, size_t bytes)
{
	for (size_t at = 0; at + 8 <= bytes; at += shadow->step)
		if (*(uint64_t *)(shadow->address + at) != mark_at(shadow, at))
			return false;
	return true;
}

/* Chooses a size from 64 KiB on; larger ones are rarer, and a GiB is very rare. */
static size_t pick_size(uint64_t *state)
{
	uint64_t word = random_next(state);
	size_t base = 64 * KIB << word % 10;

	if ((word >> 32) % 200 == 0)
		return GIB - word % 10000;
	return base + (size_t)(word >> 8) % base + (size_t)(word >> 40) % 3;
}

static bool allocate(struct shadow *shadow, uint64_t *state)
{
	size_t alignment = random_next(state) % 4 == 0 ? (size_t)1 << random_next(state) % 13 : 0;
	bool zeroed = random_next(state) % 2;

	shadow->bytes = pick_size(state);
	shadow->step = shadow->bytes > 64 * MIB ? 4 * MIB + PAGE : 7 * PAGE + 64;
	shadow->mark = random_next(state);
	shadow->address = heap_alloc(shadow->bytes, alignment, zeroed, 0);
	if (shadow->address == NULL)
		return false;
	if (alignment != 0 && (uintptr_t)shadow->address % alignment != 0)
		return false;
	for (size_t at = 0; zeroed && at < shadow->bytes; at += shadow->step)
		if (shadow->address[at] != 0)
			return false;
	write_marks(shadow);
	return true;
}

static bool overlaps(const struct shadow *a, const struct shadow *b)
{
	return a != b && a->address != NULL && b->address != NULL &&
	       a->address < b->address + heap_usable(b->address) &&
	       b->address < a->address + heap_usable(a->address);
}

static bool resize(struct shadow *shadow, uint64_t *state)
{
	size_t old = shadow->bytes, bytes = pick_size(state);

	if (!heap_resize(shadow->address, bytes)) {
		char *moved = heap_move(shadow->address, bytes);

		if (moved == NULL)
			return marks_hold(shadow, old);
		shadow->address = moved;
	}
	bool holds = marks_hold(shadow, bytes < old ? bytes : old);
	shadow->bytes = bytes;
	write_marks(shadow);
	return holds && heap_usable(shadow->address) >= bytes;
}

static bool drop(struct shadow *shadow)
{
	bool holds = marks_hold(shadow, shadow->bytes);
	int freed = heap_free(shadow->address);

	shadow->address = NULL;
	return holds && freed == 0;
}

static bool one_step(struct shadow *shadows, int count, uint64_t *state)
{
	struct shadow *shadow = &shadows[random_next(state) % (unsigned)count];

	if (shadow->address != NULL && random_next(state) % 3 == 0)
		return resize(shadow, state);
	if (shadow->address != NULL)
		return drop(shadow);
	if (!allocate(shadow, state))
		return false;
	for (int i = 0; i < count; i++)
		if (overlaps(shadow, &shadows[i]))
			return false;
	struct block *block = range_find(shadow->address + shadow->bytes - 1);
	return block != NULL && block->start == (uintptr_t)shadow->address;
}

static void walk(uint64_t seed, int steps)
{
	struct shadow shadows[48] = { 0 };
	size_t live_before, live, kept;
	uint64_t state = seed * 0x9e3779b97f4a7c15u + 1;

	heap_stats(&live_before, &kept);
	for (int i = 0; i < steps; i++) {
		if (!CHECK(one_step(shadows, 48, &state)) ||
		    (i % 64 == 0 && !CHECK_EQ(heap_check(), 0))) {
			printf("# seed %llu, step %d\n", (unsigned long long)seed, i);
			return;
		}
	}
	for (int i = 0; i < 48; i++)
		CHECK(shadows[i].address == NULL || drop(&shadows[i]));

	heap_stats(&live, &kept);
	CHECK_EQ(live, live_before);
	CHECK_EQ(heap_check(), 0);
}

/* ThreadSanitizer makes everything much slower, and finds nothing in a single thread. */
#ifdef __SANITIZE_THREAD__
#define WALKS     1
#define EXCHANGES 300
#define FORKS     5
#else
#define WALKS     4
#define EXCHANGES 1000
#define FORKS     20
#endif

TEST(random_walk_without_a_device)
{
	heap_start();
	for (uint64_t seed = 1; seed <= WALKS; seed++)
		walk(seed, 500);
}

TEST(random_walk_with_a_device)
{
	heap_start();
	heap_set_device(true);
	for (uint64_t seed = 5; seed < 5 + WALKS; seed++)
		walk(seed, 150);
}

#define THREADS 8
#define SLOTS   64

/* Blocks pass between threads in these parcels, with the expected contents in their first words. */
struct parcel {
	uint64_t bytes, mark;
};

static struct parcel *_Atomic slots[SLOTS];
static _Atomic long wrong;
static _Atomic bool stop, pause_all;
static _Atomic long exchanged;
static bool until_stopped; /* set before the threads begin */

static bool parcel_holds(const struct parcel *parcel)
{
	const uint64_t *last = (const uint64_t *)((const char *)parcel + parcel->bytes - 8);

	return *last == (parcel->mark ^ parcel->bytes);
}

static void *exchange_blocks(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg * 7919 + 13;

	for (int i = 0; (until_stopped || i < EXCHANGES) && !atomic_load(&stop); i++) {
		size_t bytes = (pick_size(&state) % (4 * MIB) + 256 * KIB) & ~(size_t)7;

		WAIT_FOR(!atomic_load(&pause_all));
		atomic_fetch_add(&exchanged, 1);
		struct parcel *parcel = heap_alloc(bytes, 0, i % 2, 0);

		if (parcel == NULL) {
			atomic_fetch_add(&wrong, 1);
			continue;
		}
		parcel->bytes = bytes;
		parcel->mark = random_next(&state);
		*(uint64_t *)((char *)parcel + bytes - 8) = parcel->mark ^ bytes;
		parcel = atomic_exchange(&slots[random_next(&state) % SLOTS], parcel);
		if (parcel == NULL)
			continue;
		if (!parcel_holds(parcel) || heap_usable(parcel) < parcel->bytes ||
		    heap_free(parcel) != 0)
			atomic_fetch_add(&wrong, 1);
	}
	return NULL;
}

static void start_threads(pthread_t *threads)
{
	heap_start();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, exchange_blocks, (void *)i);
}

static void empty_slots(void)
{
	for (int i = 0; i < SLOTS; i++) {
		struct parcel *parcel = atomic_exchange(&slots[i], NULL);

		CHECK(parcel == NULL || (parcel_holds(parcel) && heap_free(parcel) == 0));
	}
}

TEST(blocks_freed_by_other_threads)
{
	pthread_t threads[THREADS];
	size_t live, kept;

	start_threads(threads);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(wrong, 0);
	empty_slots();
	heap_stats(&live, &kept);
	CHECK_EQ(live, 0);
	CHECK_EQ(heap_check(), 0);
}

/* The child has only this thread; the state of the others must not matter. */
static int use_heap_in_child(void)
{
	alarm(check_limit(20));
	check_failures = 0;
	heap_after_fork_child();
	CHECK_EQ(heap_check(), 0);
	for (int i = 0; i < SLOTS; i++) {
		struct parcel *parcel = atomic_load(&slots[i]);

		CHECK(parcel == NULL || parcel_holds(parcel));
	}
	empty_slots();
	walk(99, 50);
	return check_failures != 0;
}

TEST(fork_in_the_middle)
{
	pthread_t threads[THREADS];

	pthread_atfork(hp_locks_before_fork, hp_locks_after_fork_parent, hp_locks_after_fork_child);
	/* ThreadSanitizer reports, in a child, threads that had ended unjoined. */
	until_stopped = true;
	start_threads(threads);
	for (int i = 0; i < FORKS; i++) {
		int status = -1;
		long before = atomic_load(&exchanged);

		/* All threads work, and then pause so that the child gets a CPU. */
		atomic_store(&pause_all, false);
		WAIT_FOR(atomic_load(&exchanged) >= before + 20 * THREADS + i);
		pid_t child = fork();

		if (child == 0)
			_exit(use_heap_in_child());
		atomic_store(&pause_all, true);
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	}
	atomic_store(&stop, true);
	atomic_store(&pause_all, false);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(wrong, 0);
	empty_slots();
	CHECK_EQ(heap_check(), 0);
}

CHECK_MAIN()
