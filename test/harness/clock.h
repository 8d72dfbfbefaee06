/*
 * A clock that stands still until the test advances it.
 *
 * A program that links clock.c has these functions in front of libc's, for itself, for its
 * libraries and for the preloaded library: clock_gettime() of CLOCK_MONOTONIC and
 * CLOCK_MONOTONIC_COARSE, clock_nanosleep() and sched_getaffinity().  alarm(), usleep(), other
 * clocks and the timeouts of the kernel stay real.
 *
 * If the program links the stand-in driver, the test clock is the driver's virtual clock, so driver
 * calls take the modeled time.  Otherwise it is a counter.  A thread of the code under test that
 * waits for the clock continues when the test has passed its deadline.  A sleep of the code under
 * test advances the clock itself once all other threads wait, so that nothing hangs.
 *
 *	TEST_CLOCK=real in the environment	the clock is the kernel's; test_clock_pass() sleeps
 *	TEST_CORES=n				sched_getaffinity() shows n cores, 4 by default
 */
#ifndef HP_HARNESS_CLOCK_H
#define HP_HARNESS_CLOCK_H

#include "check.h"

#include <stdbool.h>
#include <stdint.h>

#define TEST_MS ((uint64_t)1000000)
#define TEST_S  (1000 * TEST_MS)

/* Returns the time that the code under test sees. */
uint64_t test_clock_ns(void);

/* Passes the time, and makes every thread that waits with a deadline look at the clock. */
void test_clock_pass(uint64_t ns);

/* Returns how many other threads of this process wait in the kernel for a word (a futex). */
int test_clock_waiting(void);

/*
 * True if no other thread runs.  test_clock_sleeping() counts those that sleep by the kernel's
 * clock.
 */
bool test_clock_blocked(void);
int test_clock_sleeping(void);

/* Returns how many threads are in a sleep by the test clock. */
int test_clock_napping(void);

/*
 * True if no other thread runs, or sleeps by either clock: then only the test can change anything.
 */
bool test_clock_settled(void);

/* Passes the time once other threads have done all they can, and returns after the consequences. */
#define test_clock_step(ns)                     \
	do {                                    \
		WAIT_FOR(test_clock_settled()); \
		test_clock_pass(ns);            \
		WAIT_FOR(test_clock_settled()); \
	} while (0)

/*
 * Waits until the condition holds, and passes `step_ns` at each look, for an action of another
 * thread in the future.  Like WAIT_FOR(), it fails the test after CHECK_PATIENCE_S.
 */
#define PASS_UNTIL(condition, step_ns)                                                             \
	do {                                                                                       \
		struct check_wait wait_ = check_wait_begin();                                      \
		while (!(condition) && check_wait_goes_on(&wait_, #condition, __FILE__, __LINE__)) \
			test_clock_pass(step_ns);                                                  \
	} while (0)

#endif
