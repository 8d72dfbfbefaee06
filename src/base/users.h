/*
 * Counts the threads that are inside something, and keeps others out while it is closed.
 *
 * Each side says first what it does and looks then at the other: a thread counts itself and looks
 * whether it is closed; a closer closes and looks at the count.  So at least one of two that meet
 * sees the other.  No lock: none is held across a driver call.
 */
#ifndef HP_BASE_USERS_H
#define HP_BASE_USERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* All zero: open, nobody inside. */
struct hp_users {
	_Atomic uint32_t inside; /* threads; a futex */
	_Atomic uint32_t closed; /* closers; a futex */
};

/* Enters and returns true, or false where it is closed.  Never waits. */
bool hp_users_try_enter(struct hp_users *users);

/* Enters; waits while it is closed.  A thread that is inside already must not. */
void hp_users_enter(struct hp_users *users);

void hp_users_leave(struct hp_users *users);

/* Nobody enters from here to the same number of hp_users_open().  Any number of closers. */
void hp_users_close(struct hp_users *users);
void hp_users_open(struct hp_users *users);

/* Closes and returns true, or false where another thread has. */
bool hp_users_try_close(struct hp_users *users);

/* Waits until nobody is inside, or until hp_now_ns() reaches `until_ns`: then false. */
bool hp_users_drain(struct hp_users *users, uint64_t until_ns);

static inline uint32_t hp_users_inside(const struct hp_users *users)
{
	return atomic_load(&users->inside);
}

/* In the child of fork(): nobody is inside, and it is open. */
void hp_users_reset(struct hp_users *users);

#endif
