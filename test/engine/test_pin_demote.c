/*
 * test_pin_demote.c - blocks in use that lose their pin: to hotter ones where the budget is full,
 * and where memory is short.
 */
#include "base/counters.h"

#include "check.h"
#include "clock.h"
#include "fake.h"
#include "pinning.h"

#include <pthread.h>
#include <sched.h>

static void let_time_pass(void)
{
	test_clock_pass(30 * TEST_MS);
}

static void idle(void)
{
	for (int i = 0; i < 100 && pin_wants_idle(); i++)
		pin_when_idle(64 * MIB);
	CHECK(!pin_wants_idle());
}

TEST(relieves_the_coldest_first)
{
	char *blocks[4];

	fake_start(GIB);
	for (int i = 0; i < 4; i++) {
		blocks[i] = allocate_pinned(16 * MIB);
		let_time_pass();
	}
	CHECK(copy(blocks[0], 16 * MIB));
	CHECK(!pin_wants_idle());
	CHECK_EQ(pin_relieve(1), 16 * MIB);
	CHECK_EQ(pin_of(blocks[1]), BLOCK_PAGEABLE);
	CHECK(!fake_is_registered(blocks[1], 1));
	CHECK_EQ(pin_relieve(32 * MIB), 32 * MIB);
	CHECK(pin_of(blocks[2]) == BLOCK_PAGEABLE && pin_of(blocks[3]) == BLOCK_PAGEABLE);
	CHECK_EQ(pin_of(blocks[0]), BLOCK_PINNED);
	CHECK_EQ(pin_relieve(SIZE_MAX), 16 * MIB);
	CHECK_EQ(pin_relieve(SIZE_MAX), 0);
	CHECK_EQ(hp_count_read(unpins), 4);
	CHECK(fake_all_well());

	/* Its next season. */
	CHECK(copy(blocks[2], 16 * MIB));
	CHECK(fake_all_well());
}

TEST(relieves_freed_blocks_before_those_in_use)
{
	fake_start(GIB);
	char *live = allocate_pinned(16 * MIB), *wall = allocate(MIB);
	let_time_pass();
	char *freed = allocate_pinned(16 * MIB);

	CHECK(wall != NULL);
	CHECK_EQ(heap_free(freed), 0);
	CHECK_EQ(pin_relieve(16 * MIB), 16 * MIB);
	CHECK(!fake_is_registered(freed, 1) && fake_is_registered(live, 16 * MIB));
	CHECK(fake_all_well());
}

TEST(relieves_many)
{
	fake_start(GIB);
	for (int i = 0; i < 100; i++)
		allocate_pinned(MIB);
	CHECK_EQ(pin_relieve(SIZE_MAX), 100 * MIB);
	CHECK_EQ(fake.bytes, 0);
	CHECK(fake_all_well());
}

TEST(no_relief_while_a_capture_lives_or_a_copy_runs)
{
	fake_start(GIB);
	char *memory = allocate_pinned(16 * MIB);

	pin_hold();
	CHECK_EQ(pin_relieve(SIZE_MAX), 0);
	pin_release();
	pin_use_begin();
	pin_use_begin();
	CHECK_EQ(pin_relieve(SIZE_MAX), 0);
	pin_use_end();
	CHECK_EQ(pin_relieve(SIZE_MAX), 0);
	CHECK_EQ(pin_of(memory), BLOCK_PINNED);
	pin_use_end();
	CHECK_EQ(pin_relieve(SIZE_MAX), 16 * MIB);
	CHECK(fake_all_well());
}

static _Atomic int used;
static pthread_t user;

static void *use(void *arg)
{
	(void)arg;
	pin_use_begin();
	atomic_store(&used, 1);
	pin_use_end();
	return NULL;
}

static void begin_a_copy(void *base)
{
	(void)base;
	fake.inside_end = NULL;
	pthread_create(&user, NULL, use, NULL);
	check_give_a_chance();
	CHECK_EQ(used, 0);
}

TEST(a_copy_waits_for_an_unpinning)
{
	fake_start(GIB);
	allocate_pinned(16 * MIB);
	fake.inside_end = begin_a_copy;
	CHECK_EQ(pin_relieve(SIZE_MAX), 16 * MIB);
	pthread_join(user, NULL);
	CHECK_EQ(used, 1);
	CHECK(fake_all_well());
}

static void free_it(void *base)
{
	fake.inside_end = NULL;
	CHECK_EQ(heap_free(base), 0);
	/* Its pages must not go while the driver has them. */
	heap_press(HEAP_PRESSURE_SEVERE);
	heap_press(HEAP_PRESSURE_NONE);
	CHECK_EQ(((char *)base)[MIB], 0x6b);
	CHECK(allocate(16 * MIB) == base || heap_check() == 0);
}

TEST(freed_while_it_is_relieved)
{
	fake_start(GIB);
	char *memory = allocate_pinned(16 * MIB);

	memset(memory, 0x6b, 16 * MIB);
	fake.inside_end = free_it;
	CHECK_EQ(pin_relieve(SIZE_MAX), 16 * MIB);
	CHECK(fake_all_well());
}

TEST(pressed_pins_nothing)
{
	fake_start(GIB);
	char *pinned = allocate_pinned(16 * MIB), *memory = allocate(16 * MIB);

	pin_press(true);
	CHECK(!copy(memory, 16 * MIB) && copy(pinned, 16 * MIB));
	CHECK_EQ(fake.registers, 1);
	pin_press(false);
	CHECK(copy(memory, 16 * MIB));
	CHECK(fake_all_well());
}

/* One that nobody copies any more gives way to one that has paid for both moves. */
TEST(the_hot_oust_the_cold)
{
	fake_start(40 * MIB);
	char *cold = allocate_pinned(16 * MIB), *warm = allocate_pinned(16 * MIB);
	char *hot = allocate(16 * MIB);

	let_time_pass();
	for (int i = 0; i < 3; i++) {
		CHECK(!copy(hot, 16 * MIB) && copy(warm, 16 * MIB));
		CHECK_EQ(pin_wants_idle(), i > 0);
		let_time_pass();
	}
	CHECK_EQ(pin_when_idle(64 * MIB), 16 * MIB);
	CHECK_EQ(pin_of(cold), BLOCK_PAGEABLE);
	CHECK_EQ(pin_of(warm), BLOCK_PINNED);
	CHECK(copy(hot, 16 * MIB));
	CHECK(!pin_wants_idle());
	CHECK(fake_all_well());
}

TEST(not_before_it_is_paid_for)
{
	fake_start(40 * MIB);
	allocate_pinned(32 * MIB);
	char *hot = allocate(16 * MIB);

	let_time_pass();
	/* One price is 0.56 ms, the other 1.1; a copy is 0.7. */
	CHECK(!copy(hot, 16 * MIB));
	CHECK(!pin_wants_idle());
	CHECK_EQ(pin_when_idle(SIZE_MAX), 0);
	CHECK(!copy(hot, 16 * MIB));
	CHECK_EQ(pin_when_idle(SIZE_MAX), 0);
	CHECK(!copy(hot, 16 * MIB));
	CHECK_EQ(pin_when_idle(SIZE_MAX), 32 * MIB);
	CHECK(copy(hot, 16 * MIB));
	CHECK(fake_all_well());
}

TEST(no_more_victims_than_needed_and_none_in_vain)
{
	char *cold[4];

	fake_start(64 * MIB);
	for (int i = 0; i < 4; i++)
		cold[i] = allocate_pinned(16 * MIB);
	char *hot = allocate(32 * MIB), *larger = allocate(64 * MIB);
	let_time_pass();
	for (int i = 0; i < 4; i++)
		CHECK(!copy(hot, 32 * MIB));
	idle();
	CHECK_EQ(fake.unregisters, 2);
	CHECK(copy(hot, 32 * MIB));
	let_time_pass();

	/* 64 MiB would take all; but the hot one is copied all the time. */
	for (int i = 0; i < 20; i++) {
		CHECK(!copy(larger, 64 * MIB) && copy(hot, 32 * MIB));
		idle();
		let_time_pass();
	}
	CHECK_EQ(fake.unregisters, 2);
	CHECK_EQ(pin_of(hot), BLOCK_PINNED);
	CHECK_EQ((pin_of(cold[0]) == BLOCK_PINNED) + (pin_of(cold[1]) == BLOCK_PINNED) +
			 (pin_of(cold[2]) == BLOCK_PINNED) + (pin_of(cold[3]) == BLOCK_PINNED),
		 2);
	CHECK(fake_all_well());
}

/* A working set larger than the budget, copied round and round: what is pinned stays pinned. */
TEST(a_cycle_does_not_chase_itself)
{
	char *blocks[8];

	fake_start(64 * MIB);
	for (int i = 0; i < 8; i++)
		blocks[i] = allocate(16 * MIB);
	for (int round = 0; round < 12; round++) {
		for (int i = 0; i < 8; i++) {
			copy(blocks[i], 16 * MIB);
			test_clock_pass(5 * TEST_MS);
			while (pin_wants_idle() && pin_when_idle(64 * MIB) > 0)
				;
		}
	}
	CHECK_EQ(fake.registers, 4);
	CHECK_EQ(fake.unregisters, 0);
	CHECK(fake_all_well());
}

/* What was hot when the wish began may have gone cold since. */
TEST(a_wish_that_cannot_be_granted_starts_anew)
{
	fake_start(40 * MIB);
	char *warm = allocate_pinned(32 * MIB), *hot = allocate(16 * MIB);

	for (int i = 0; i < 4; i++) {
		CHECK(!copy(hot, 16 * MIB));
		let_time_pass();
		CHECK(copy(warm, 32 * MIB));
		idle();
	}
	CHECK_EQ(pin_of(warm), BLOCK_PINNED);
	for (int i = 0; i < 8 && pin_of(hot) == BLOCK_PAGEABLE; i++) {
		let_time_pass();
		copy(hot, 16 * MIB);
		idle();
	}
	CHECK_EQ(pin_of(hot), BLOCK_PINNED);
	CHECK_EQ(pin_of(warm), BLOCK_PAGEABLE);
	CHECK(fake_all_well());
}

/* The wish of a block that is gone is nobody's. */
TEST(a_wish_dies_with_its_block)
{
	fake_start(40 * MIB);
	char *cold = allocate_pinned(32 * MIB), *hot = allocate(16 * MIB);

	let_time_pass();
	for (int i = 0; i < 5; i++)
		CHECK(!copy(hot, 16 * MIB));
	CHECK(pin_wants_idle());
	CHECK_EQ(heap_free(hot), 0);
	idle();
	CHECK_EQ(fake.unregisters, 0);
	CHECK_EQ(pin_of(cold), BLOCK_PINNED);
	CHECK(fake_all_well());
}

/* Threads that copy, straight from what pin_before_copy() calls pinned, while pins come and go. */
static _Atomic bool stop;
static char *blocks[6];
static _Atomic long straight, torn;

static void *keep_copying(void *arg)
{
	fake_set_context(1000);
	for (unsigned i = (unsigned)(uintptr_t)arg; !atomic_load(&stop); i++) {
		char *memory = blocks[i % 6];

		pin_use_begin();
		if (copy(memory, 4 * MIB)) {
			atomic_fetch_add(&straight, 1);
			for (int n = 0; n < 20; n++)
				if (!fake_is_registered(memory, 4 * MIB))
					atomic_fetch_add(&torn, 1);
		}
		pin_use_end();
		if (i % 8 == 0)
			sched_yield();
	}
	return NULL;
}

TEST(no_pin_ends_under_a_copy)
{
	pthread_t threads[3];
	size_t relieved = 0;

	fake_start(16 * MIB);
	for (int i = 0; i < 6; i++)
		blocks[i] = allocate(4 * MIB);
	for (uintptr_t i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, keep_copying, (void *)i);
	for (int i = 0; i < 2000; i++) {
		relieved += pin_relieve(4 * MIB);
		if (pin_wants_idle())
			relieved += pin_when_idle(64 * MIB);
		test_clock_pass(TEST_MS);
		if (i % 100 == 99)
			WAIT_FOR(atomic_load(&straight) > i / 10);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	printf("# %ld straight copies, %zu MiB relieved\n", (long)straight, relieved / MIB);
	CHECK_EQ(torn, 0);
	CHECK(relieved > 10 * MIB);
	CHECK(fake_all_well());
}

CHECK_MAIN()
