/*
 * Counts the threads inside a section, and keeps other threads out while the section is closed.
 *
 * A thread that enters counts itself and then checks whether the section is closed.  A thread that
 * closes the section does so and then reads the count.  So of two threads that meet, at least one
 * sees the other.  There is no lock, because no lock may be held across a driver call.  A thread
 * that is inside is not canceled: it would stay counted forever.
 *
 * The driver has cancellation points.  Code that counts or marks a thread during a driver call, but
 * enters no section, calls hp_uncancellable_begin() itself.
 */
#ifndef HP_BASE_USERS_H
#define HP_BASE_USERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * pthread_cancel() does not end the calling thread between begin and end; a request stays pending
 * until its first cancellation point after that.  The same thread calls begin and end; pairs may be
 * nested.  The outermost end restores the state that the outermost begin found.  The caller undoes
 * its own counts before the end.  The outermost pair costs two atomic operations on thread-local
 * memory, an inner pair none.
 *
 * With PTHREAD_CANCEL_ASYNCHRONOUS the thread ends in hp_uncancellable_end() if a request is
 * pending.  Outside of such pairs that mode is as unsafe in hotpin as in libc (pthreads(7),
 * async-cancel-safe functions).
 */
void hp_uncancellable_begin(void);
void hp_uncancellable_end(void);

/* All zero: open, and no thread inside. */
struct hp_users {
	_Atomic uint32_t inside; /* threads in the section; a futex; other files only read it */
	_Atomic uint32_t closed; /* closes without an open yet; a futex */
	_Atomic bool
		late; /* a thread has entered while it was closed; nobody waits until it opens */
};

/* Enters and returns true; hp_users_leave() must follow.  False: it is closed.  Never waits. */
bool hp_users_try_enter(struct hp_users *users);

/*
 * Enters.  Waits while the section is closed, `most_ns` at most: the thread that closed it may wait
 * for this one, or may have left by longjmp() out of a signal handler.  A thread that is inside
 * must not call this.
 */
void hp_users_enter(struct hp_users *users, uint64_t most_ns);

void hp_users_leave(struct hp_users *users);

/* No thread enters from close to open.  Several threads may have the section closed. */
void hp_users_close(struct hp_users *users);
void hp_users_open(struct hp_users *users);

/* Closes and returns true; returns false if another thread has closed the section. */
bool hp_users_try_close(struct hp_users *users);

/*
 * Closes the section, once no other thread has it closed, and waits until no other thread is
 * inside; `most_ns` at most for each of the two.  False: a thread is still inside.  In both cases
 * hp_users_open() must follow.  `inside`: the caller is inside, and stays so; it is not counted
 * while it waits to close the section, so two threads inside do not wait for each other.  The
 * caller is uncancellable.
 */
bool hp_users_close_alone(struct hp_users *users, bool inside, uint64_t most_ns);

/*
 * Waits until no thread is inside.  False: hp_now_ns() has reached `until_ns` before that.
 * UINT64_MAX: no limit.
 */
bool hp_users_drain(struct hp_users *users, uint64_t until_ns);

/* In the child of fork(): no thread is inside, and the section is open. */
void hp_users_reset(struct hp_users *users);

#endif
