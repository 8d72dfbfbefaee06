/*
 * test_pin_stress.c - every part of src/pin and src/heap at once: threads that allocate, copy, free
 * and resize, one that unpins while idle, one that registers memory as a program does, refusals,
 * and contexts that end.
 */
#include "heap/heap.h"
#include "pin/context_end.h"
#include "pin/eviction.h"
#include "pin/pin.h"
#include "heap/map.h"
#include "pin/pinning.h"

#include "check.h"
#include "clock.h"
#include "fake.h"
#include "heap_check.h"
#include "random.h"
#include "sizes.h"

#include <pthread.h>

#define WORKERS 4
#define SLOTS   24

static _Atomic bool stop;
static _Atomic long wrong, rounds;

/* A block of one worker; the marks at both ends must survive everything. */
struct owned {
	char *memory;
	size_t bytes;
	uint64_t mark;
	bool registered;
};

static void put_marks(struct owned *owned)
{
	memcpy(owned->memory, &owned->mark, 8);
	memcpy(owned->memory + owned->bytes - 8, &owned->mark, 8);
}

static bool marks_hold(const struct owned *owned)
{
	return memcmp(owned->memory, &owned->mark, 8) == 0 &&
	       memcmp(owned->memory + owned->bytes - 8, &owned->mark, 8) == 0;
}

static void get_block(struct owned *owned, uint64_t *state)
{
	owned->bytes = ((size_t)256 * KIB << random_next(state) % 6) + random_next(state) % 4 * 8;
	owned->mark = random_next(state);
	owned->memory = heap_alloc(owned->bytes, 0, random_next(state) % 2, 0);
	if (owned->memory == NULL)
		atomic_fetch_add(&wrong, 1);
	else
		put_marks(owned);
}

static void shrink_block(struct owned *owned)
{
	size_t bytes = owned->bytes / 2 & ~(size_t)7;

	if (owned->registered || !heap_resize(owned->memory, bytes))
		return;
	if (memcmp(owned->memory, &owned->mark, 8) != 0)
		atomic_fetch_add(&wrong, 1);
	owned->bytes = bytes;
	put_marks(owned);
}

/* The program's own register and unregister; unregistering is sometimes forgotten before free(). */
static void toggle_registration(struct owned *owned)
{
	CUresult result = owned->registered ? fake_program_unregister(owned->memory)
					    : fake_program_register(owned->memory, owned->bytes);

	if (result == CUDA_SUCCESS)
		owned->registered = !owned->registered;
	else if (!fake.lenient)
		atomic_fetch_add(&wrong, 1);
}

static void put_block(struct owned *owned)
{
	if (owned->registered)
		toggle_registration(owned);
	if (!marks_hold(owned) || heap_free(owned->memory) != 0)
		atomic_fetch_add(&wrong, 1);
	owned->memory = NULL;
	owned->registered = false;
}

static void copy_once(const struct owned *owned, bool to_device)
{
	pin_before_copy(range_find(owned->memory), to_device, owned->bytes, owned);
	pin_leave(owned);
}

static void *work(void *arg)
{
	struct owned blocks[SLOTS] = { 0 };
	uint64_t state = (uint64_t)(uintptr_t)arg * 104729 + 1;

	fake_set_context(1000 + (uintptr_t)arg % 2);
	while (!atomic_load(&stop)) {
		struct owned *owned = &blocks[random_next(&state) % SLOTS];
		unsigned what = random_next(&state) % 16;

		if (owned->memory == NULL)
			get_block(owned, &state);
		else if (what < 8)
			copy_once(owned, what % 2);
		else if (what < 9)
			toggle_registration(owned);
		else if (what < 10)
			shrink_block(owned);
		else
			put_block(owned);
		atomic_fetch_add(&rounds, 1);
	}
	for (int i = 0; i < SLOTS; i++)
		if (blocks[i].memory != NULL)
			put_block(&blocks[i]);
	return NULL;
}

static void *idle(void *arg)
{
	(void)arg;
	fake_set_context(0);
	while (!atomic_load(&stop)) {
		if (pin_eviction_due())
			pin_evict_due(32 * MIB);
		if (pin_check() != 0 || heap_check() != 0)
			atomic_fetch_add(&wrong, 1);
		test_clock_pass(TEST_MS);
	}
	return NULL;
}

/* `destroy`: contexts are destroyed in between. */
static void run(bool destroy)
{
	pthread_t threads[WORKERS + 1];

	fake_start(48 * MIB);
	fake.lenient = destroy;
	fake.refuse = CUDA_ERROR_INVALID_VALUE;
	fake.refuse_every = 13;
	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, work, (void *)i);
	pthread_create(&threads[WORKERS], NULL, idle, NULL);
	for (unsigned i = 0; i < 20; i++) {
		long before = atomic_load(&rounds);

		WAIT_FOR(atomic_load(&rounds) >= before + 100);
		if (destroy) {
			pin_context_ending(1000 + i % 2);
			if (i % 3 != 0)
				fake_destroy_context(1000 + i % 2);
			pin_context_ended(1000 + i % 2, i % 3 != 0);
		}
	}
	WAIT_FOR(fake.registered > 10 && fake.unregisters > 10);
	atomic_store(&stop, true);
	for (int i = 0; i <= WORKERS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(wrong, 0);
	printf("# %ld registered, %ld unregistered, %ld overlaps, %zu bytes at most\n",
	       (long)fake.registered, (long)fake.unregisters, (long)fake.overlaps,
	       (size_t)fake.bytes_most);
}

TEST(everything_at_once)
{
	run(false);
	CHECK(fake_all_well());
	CHECK_EQ(fake.overlaps, 0);
	CHECK_EQ(fake.strangers, 0);

	/* Nothing is in use: after a while everything can be unpinned. */
	test_clock_pass(2100 * TEST_MS);
	while (pin_evict_due(SIZE_MAX) > 0)
		;
	CHECK_EQ(pin_bytes(), 0);
	CHECK_EQ(fake.bytes, 0);
	CHECK(fake_all_well());
}

TEST(everything_at_once_while_contexts_go)
{
	run(true);
	CHECK_EQ(pin_check(), 0);
	CHECK_EQ(heap_check(), 0);
	CHECK_EQ(fake.broken, 0);
	CHECK_EQ(fake.overlaps, 0);
}

CHECK_MAIN()
