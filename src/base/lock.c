/*
 * lock.c - ranked mutexes.
 *
 * pthread mutexes only: they do not allocate, and a thread that waits sleeps.
 */
#include "base/lock.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>

static pthread_mutex_t locks[HP_LOCK_COUNT] = {
#define LOCK(name) PTHREAD_MUTEX_INITIALIZER,
#include "base/lock.def"
};

#ifndef NDEBUG
static __thread unsigned held __attribute__((tls_model("initial-exec")));
#endif

/*
 * This thread is in fork() and has all locks.  Other libraries' handlers that run meanwhile
 * allocate and free: it may, since nobody else is at anything that a lock guards.
 */
static __thread bool has_all __attribute__((tls_model("initial-exec")));

void hp_lock(enum hp_lock lock)
{
	if (has_all)
		return;
	assert(held >> lock == 0 && "locks are taken in the order of lock.def");
	pthread_mutex_lock(&locks[lock]);
#ifndef NDEBUG
	held |= 1u << lock;
#endif
}

void hp_unlock(enum hp_lock lock)
{
	if (has_all)
		return;
	assert(held >> lock & 1);
#ifndef NDEBUG
	held &= ~(1u << lock);
#endif
	pthread_mutex_unlock(&locks[lock]);
}

int hp_lock_held(enum hp_lock lock)
{
#ifndef NDEBUG
	return held >> lock & 1;
#else
	(void)lock;
	return 1;
#endif
}

void hp_locks_before_fork(void)
{
	for (int lock = 0; lock < HP_LOCK_COUNT; lock++)
		hp_lock((enum hp_lock)lock);
	has_all = true;
}

void hp_locks_after_fork_parent(void)
{
	has_all = false;
	for (int lock = HP_LOCK_COUNT; lock-- > 0;)
		hp_unlock((enum hp_lock)lock);
}

void hp_locks_after_fork_child(void)
{
	has_all = false;
	for (int lock = 0; lock < HP_LOCK_COUNT; lock++)
		locks[lock] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
#ifndef NDEBUG
	held = 0;
#endif
}
