/*
 * The library's mutexes, ranked so that no two threads can wait for each other.
 */
#ifndef HP_BASE_LOCK_H
#define HP_BASE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>

enum hp_lock {
#define LOCK(name) HP_LOCK_##name,
#include "base/lock.def"
	HP_LOCK_COUNT
};

/* A bit for each lock that this thread holds or waits for, and above them a count of sections. */
extern __thread unsigned hp_locks_held __attribute__((tls_model("initial-exec")));

/*
 * Around a section in which a thread owns what the child of a fork() would take back.  A fork() by
 * a signal handler that interrupts it is one that interrupts a thread with a lock.  Locks may be
 * taken inside.
 */
static inline void hp_section_begin(void)
{
	hp_locks_held += 1u << HP_LOCK_COUNT;
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void hp_section_end(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	hp_locks_held -= 1u << HP_LOCK_COUNT;
}

/* Lock and unlock; debug builds assert the order of lock.def, and that the lock is held. */
void hp_lock(enum hp_lock lock);
void hp_unlock(enum hp_lock lock);

/* Reads a value with the lock. */
#define hp_locked(lock, value)                             \
	({                                                 \
		hp_lock(lock);                             \
		__typeof__(value) hp_locked_value = value; \
		hp_unlock(lock);                           \
		hp_locked_value;                           \
	})

/* For assertions: true if this thread holds the lock.  Always true in release builds. */
int hp_lock_held(enum hp_lock lock);

/*
 * Around fork(): take all locks in order; release them in the parent; initialize them in the child,
 * which does not have the threads that might hold them.  In between, the forking thread may lock
 * and unlock as usual, because other fork handlers run then.
 *
 * If a signal handler interrupts a thread that holds a lock, and forks, no lock is taken, and the
 * child does not get that thread's locks: see hp_locks_are_held().
 */
void hp_locks_before_fork(void);
void hp_locks_after_fork_parent(void);
void hp_locks_after_fork_child(void);

/*
 * Before fork() or in the child: true if this thread holds, or waits for, a lock.  Then it may take
 * no lock.
 */
static inline bool hp_locks_are_held(void)
{
	return hp_locks_held != 0;
}

#endif
