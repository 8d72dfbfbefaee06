/*
 * lock.c - ranked mutexes.
 *
 * pthread mutexes do not allocate, and a thread that waits for one sleeps.
 */
#include "base/lock.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_mutex_t locks[HP_LOCK_COUNT] = {
#define LOCK(name) PTHREAD_MUTEX_INITIALIZER,
#include "base/lock.def"
};

/* The bits of the locks in hp_locks_held. */
#define LOCKS ((1u << HP_LOCK_COUNT) - 1)

__thread unsigned hp_locks_held __attribute__((tls_model("initial-exec")));

/*
 * This thread is in fork() and holds all locks.  Fork handlers of other libraries allocate and free
 * in this thread meanwhile.  Their calls may lock and unlock, because no other thread is inside a
 * locked section.
 */
static __thread bool has_all __attribute__((tls_model("initial-exec")));

/*
 * Calls of fork() by signal handlers that interrupted this thread while it held a lock.  The thread
 * would wait for itself, so such a fork() takes no lock, like glibc's own in a process of one
 * thread.  The child inherits the guarded data in an intermediate state.
 */
static __thread unsigned interrupted __attribute__((tls_model("initial-exec")));

void hp_lock(enum hp_lock lock)
{
	if (has_all)
		return;
	assert((hp_locks_held & LOCKS) >> lock == 0 && "locks are taken in the order of lock.def");
	hp_locks_held |= 1u << lock;
	atomic_signal_fence(memory_order_seq_cst);
	pthread_mutex_lock(&locks[lock]);
}

void hp_unlock(enum hp_lock lock)
{
	if (has_all)
		return;
	assert(hp_locks_held >> lock & 1);
	pthread_mutex_unlock(&locks[lock]);
	atomic_signal_fence(memory_order_seq_cst);
	hp_locks_held &= ~(1u << lock);
}

int hp_lock_held(enum hp_lock lock)
{
#ifndef NDEBUG
	return hp_locks_held >> lock & 1;
#else
	(void)lock;
	return 1;
#endif
}

void hp_locks_before_fork(void)
{
	if (hp_locks_held != 0) {
		interrupted++;
		return;
	}
	for (int lock = 0; lock < HP_LOCK_COUNT; lock++)
		hp_lock((enum hp_lock)lock);
	has_all = true;
}

void hp_locks_after_fork_parent(void)
{
	if (interrupted != 0) {
		interrupted--;
		return;
	}
	has_all = false;
	for (int lock = HP_LOCK_COUNT; lock-- > 0;)
		hp_unlock((enum hp_lock)lock);
}

void hp_locks_after_fork_child(void)
{
	if (interrupted == 0) {
		hp_locks_after_fork_parent();
		return;
	}
	interrupted = 0;
	for (int lock = 0; lock < HP_LOCK_COUNT; lock++)
		if ((hp_locks_held >> lock & 1) == 0)
			locks[lock] = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
