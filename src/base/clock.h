/*
 * The clock, and every wait for it: CLOCK_MONOTONIC, in nanoseconds.
 *
 * Nothing else in the library reads that clock, sleeps, or waits with a deadline.  clock.c calls
 * plain libc functions for these, so that tests can replace them.
 */
#ifndef HP_BASE_CLOCK_H
#define HP_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

uint64_t hp_now_ns(void);

/* Returns the id of that clock for system calls. */
int hp_clock_id(void);

/* Reads the time of the kernel's last tick, at most a few milliseconds ago; this is cheaper. */
uint64_t hp_now_coarse_ns(void);

/* Sleeps for about `ns`.  Not a cancellation point; errno is kept. */
void hp_sleep_ns(uint64_t ns);

/* Sleeps for about `ns` and returns true, or false if hp_now_ns() has reached `until_ns`. */
bool hp_sleep_before(uint64_t until_ns, uint64_t ns);

/*
 * Waits while *word is `value`, until hp_wake(word, ..) or until hp_now_ns() reaches `until_ns`;
 * UINT64_MAX: without a deadline.  The wait may also end early, so call it in a loop.  False: the
 * deadline has passed and *word is still `value`.  Not a cancellation point; errno is kept.
 */
bool hp_wait_until(const _Atomic uint32_t *word, uint32_t value, uint64_t until_ns);

/* Waits while *word is `value`.  False: the deadline has passed and *word is still `value`. */
bool hp_wait_while(const _Atomic uint32_t *word, uint32_t value, uint64_t until_ns);

/* Wakes up to `how_many` threads that wait for `word`, which has changed; errno is kept. */
void hp_wake(const _Atomic uint32_t *word, int how_many);

/* Increments *bell and wakes one thread that waits for it. */
void hp_ring(_Atomic uint32_t *bell);

#endif
