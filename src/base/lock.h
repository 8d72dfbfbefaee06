/*
 * The library's mutexes, ranked so that no two threads can wait for each other.
 */
#ifndef HP_BASE_LOCK_H
#define HP_BASE_LOCK_H

#include <stdbool.h>

enum hp_lock {
#define LOCK(name) HP_LOCK_##name,
#include "base/lock.def"
	HP_LOCK_COUNT
};

/* Take and give back; debug builds assert the order of lock.def and that it is held. */
void hp_lock(enum hp_lock lock);
void hp_unlock(enum hp_lock lock);

/* For assertions: does this thread hold it?  Always true in release builds. */
int hp_lock_held(enum hp_lock lock);

/*
 * Around fork(): takes all in order; gives all back in the parent; makes them anew in the child,
 * where the threads that could have held them are gone.  Between, the forking thread may take and
 * give back as ever, for handlers that come after our first and before our second.
 *
 * A signal handler that has interrupted a thread with a lock forks without any, and its child is
 * not given what that thread had: hp_locks_are_held().
 */
void hp_locks_before_fork(void);
void hp_locks_after_fork_parent(void);
void hp_locks_after_fork_child(void);

/*
 * About to fork, or in the child: is this thread in the midst of what a lock guards?  Then none may
 * be taken.
 */
bool hp_locks_are_held(void);

#endif
