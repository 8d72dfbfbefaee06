/*
 * test_clock.c - the guarantees of base/clock.h, and the clock that replaces it in tests.
 */
#include "base/clock.h"
#include "stage/workers.h"

#include "bare.h"
#include "clock.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic uint32_t word;
static _Atomic int returned;

TEST(stands_still_until_it_is_passed)
{
	uint64_t before = hp_now_ns();

	CHECK_EQ(hp_now_ns(), before);
	CHECK_EQ(hp_now_coarse_ns(), before);
	test_clock_pass(5 * TEST_S + 7);
	CHECK_EQ(hp_now_ns(), before + 5 * TEST_S + 7);
	CHECK_EQ(hp_now_coarse_ns(), before + 5 * TEST_S + 7);
	/* A sleep ends neither early nor never. */
	hp_sleep_ns(3 * TEST_S);
	CHECK_EQ(hp_now_ns(), before + 8 * TEST_S + 7);
	/* A polling loop sleeps again until its deadline, and not longer. */
	CHECK(hp_sleep_before(before + 9 * TEST_S, 2 * TEST_S));
	CHECK(!hp_sleep_before(before + 9 * TEST_S, 2 * TEST_S));
	CHECK_EQ(hp_now_ns(), before + 10 * TEST_S + 7);
}

TEST(a_wait_that_need_not_be)
{
	uint64_t now = hp_now_ns();

	errno = 33;
	CHECK(hp_wait_until(&word, 1, UINT64_MAX));
	CHECK(hp_wait_until(&word, 1, now));
	CHECK(!hp_wait_until(&word, 0, now));
	CHECK(!hp_wait_until(&word, 0, 0));
	CHECK(hp_wait_while(&word, 1, UINT64_MAX));
	CHECK(!hp_wait_while(&word, 0, now));
	hp_wake(&word, INT_MAX);
	hp_ring(&word);
	CHECK_EQ(word, 1);
	hp_sleep_ns(1);
	CHECK_EQ(errno, 33);
}

/* The argument is the seconds that the thread waits, or UINT64_MAX nanoseconds. */
static void *wait_for_the_word(void *arg)
{
	uint64_t seconds = (uintptr_t)arg;
	uint64_t until = seconds == 0 ? UINT64_MAX : hp_now_ns() + seconds * TEST_S;

	returned = 1 + hp_wait_while(&word, 0, until);
	return NULL;
}

TEST(a_deadline_is_one_of_the_test_clock)
{
	/* By the kernel's clock this would take an hour. */
	pthread_t thread = check_thread(wait_for_the_word, (void *)3600);
	for (int i = 0; i < 20; i++)
		test_clock_pass(TEST_S);
	CHECK_EQ(returned, 0);
	PASS_UNTIL(returned != 0, 600 * TEST_S);
	CHECK_EQ(returned, 1);
	pthread_join(thread, NULL);
}

TEST(a_word_that_changes_ends_the_wait)
{
	const uintptr_t seconds[] = { 0, 3600 };

	for (int i = 0; i < 2; i++) {
		word = 0;
		returned = 0;
		pthread_t thread = check_thread(wait_for_the_word, (void *)seconds[i]);
		hp_ring(&word);
		WAIT_FOR(returned != 0);
		CHECK_EQ(returned, 2);
		pthread_join(thread, NULL);
	}
}

static void *sleep_for_an_hour(void *arg)
{
	(void)arg;
	hp_sleep_ns(3600 * TEST_S);
	returned = 1;
	return NULL;
}

TEST(a_sleeper_passes_the_time_itself)
{
	uint64_t before = hp_now_ns();

	pthread_t thread = check_thread(sleep_for_an_hour, NULL);
	WAIT_FOR(test_clock_settled());
	CHECK_EQ(returned, 1);
	CHECK_EQ(hp_now_ns(), before + 3600 * TEST_S);
	pthread_join(thread, NULL);
}

static sem_t turns[2];

/* Runs while the other thread waits. */
static void *take_turns(void *arg)
{
	uintptr_t mine = (uintptr_t)arg;

	for (;;) {
		sem_wait(&turns[mine]);
		sem_post(&turns[1 - mine]);
	}
	return NULL;
}

TEST(one_of_two_threads_always_runs)
{
	sem_init(&turns[0], 0, 1);
	sem_init(&turns[1], 0, 0);
	check_thread(take_turns, (void *)0);
	check_thread(take_turns, (void *)1);
	for (int i = 0; i < 2000 && check_failures == 0; i++)
		CHECK(!test_clock_blocked());
	_exit(check_verdict());
}

static int gate[2];

/* Shares the memory of the process and the thread's part of libc. */
static int wait_at_the_gate(void *arg)
{
	char byte;

	returned = 1;
	long got = bare4(SYS_read, gate[0], (long)&byte, 1, 0);
	bare4(SYS_exit, got == 1 ? 0 : 1, 0, 0, 0);
	return arg != NULL;
}

/* The kernel lets this thread wait until the child ends. */
static void *start_child(void *arg)
{
	static char stack[64 << 10] __attribute__((aligned(16)));

	CHECK_EQ(check_status(clone(wait_at_the_gate, stack + sizeof(stack),
				    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL)),
		 0);
	return arg;
}

/* As it lets a thread wait for memory, or for a lock of the kernel. */
TEST(a_thread_that_the_kernel_holds_goes_on_by_itself)
{
	CHECK_EQ(pipe(gate), 0);
	pthread_t thread = check_thread(start_child, NULL);
	WAIT_FOR(returned != 0);
	check_give_a_chance();
	CHECK(!test_clock_blocked());
	CHECK_EQ(write(gate[1], "", 1), 1);
	pthread_join(thread, NULL);
}

static void *sleep_as_a_sanitizer(void *arg)
{
	const struct timespec length = { .tv_sec = 3600 };

	(void)arg;
	syscall(SYS_nanosleep, &length, NULL);
	return NULL;
}

/* Otherwise every sleep of the code under test would wait for that thread. */
TEST(a_thread_of_a_sanitizer_sleeps_for_ever)
{
	check_thread(sleep_as_a_sanitizer, NULL);
	WAIT_FOR(test_clock_settled());
	CHECK_EQ(test_clock_sleeping(), 0);
	_exit(check_verdict());
}

TEST(the_cores_are_chosen_by_the_test)
{
	setenv("TEST_CORES", "6", 1);
	CHECK(workers_default() <= 3);
	setenv("TEST_CORES", "1", 1);
	CHECK_EQ(workers_default(), 0);
}

TEST(the_real_clock_on_request)
{
	setenv("TEST_CLOCK", "real", 1);
	uint64_t before = hp_now_ns();

	test_clock_pass(TEST_MS);
	CHECK(hp_now_ns() >= before + TEST_MS);
	hp_sleep_ns(TEST_MS);
	CHECK(hp_now_ns() >= before + 2 * TEST_MS);
}

CHECK_MAIN()
