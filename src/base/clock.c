/*
 * clock.c - the clock, sleeps, and waits for a word with a deadline.
 *
 * The kernel measures a timeout on its own clock, so hp_now_ns() decides after each wait whether
 * the deadline has passed.
 */
#define _GNU_SOURCE
#include "base/clock.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t hp_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int hp_clock_id(void)
{
	return CLOCK_MONOTONIC;
}

uint64_t hp_now_coarse_ns(void)
{
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

static struct timespec timespec_of(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / 1000000000u),
				  .tv_nsec = (long)(ns % 1000000000u) };
}

void hp_sleep_ns(uint64_t ns)
{
	struct timespec length = timespec_of(ns);
	int saved = errno, before;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	clock_nanosleep(CLOCK_MONOTONIC, 0, &length, NULL);
	pthread_setcancelstate(before, NULL);
	errno = saved;
}

bool hp_sleep_before(uint64_t until_ns, uint64_t ns)
{
	if (hp_now_ns() >= until_ns)
		return false;
	hp_sleep_ns(ns);
	return true;
}

bool hp_wait_until(const _Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
	bool has_deadline = until_ns != UINT64_MAX;
	uint64_t now_ns = has_deadline ? hp_now_ns() : 0;
	int saved = errno;

	if (atomic_load(word) != value)
		return true;
	if (now_ns >= until_ns)
		return false;
	struct timespec left = timespec_of(until_ns - now_ns);
	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, has_deadline ? &left : NULL, NULL, 0);
	errno = saved;
	return !has_deadline || atomic_load(word) != value || hp_now_ns() < until_ns;
}

bool hp_wait_while(const _Atomic uint32_t *word, uint32_t value, uint64_t until_ns)
{
	while (atomic_load(word) == value)
		if (!hp_wait_until(word, value, until_ns))
			return false;
	return true;
}

void hp_ring(_Atomic uint32_t *bell)
{
	atomic_fetch_add(bell, 1);
	hp_wake(bell, 1);
}

void hp_wake(const _Atomic uint32_t *word, int how_many)
{
	int saved = errno;

	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, how_many, NULL, NULL, 0);
	errno = saved;
}
