/*
 * Work that one thread does once, while other threads continue without it.
 *
 * No caller waits, unlike with pthread_once().  The second caller may be the same thread inside the
 * first call: libcuda re-enters hotpin from cuInit().
 */
#ifndef HP_BASE_ONCE_H
#define HP_BASE_ONCE_H

#include <stdatomic.h>
#include <stdbool.h>

/* All zero: not begun. */
struct hp_once {
	_Atomic int state; /* enum hp_once_state; any thread */
};

enum hp_once_state { HP_ONCE_NEW, HP_ONCE_RUNNING, HP_ONCE_DONE };

/* True after hp_once_end(); data written before that may be read. */
static inline bool hp_once_is_done(const struct hp_once *once)
{
	return atomic_load_explicit(&once->state, memory_order_acquire) == HP_ONCE_DONE;
}

/* True for one caller, which does the work and then calls hp_once_end(); false for all others. */
static inline bool hp_once_begin(struct hp_once *once)
{
	int expected = HP_ONCE_NEW;

	return !hp_once_is_done(once) &&
	       atomic_compare_exchange_strong(&once->state, &expected, HP_ONCE_RUNNING);
}

static inline void hp_once_end(struct hp_once *once)
{
	atomic_store_explicit(&once->state, HP_ONCE_DONE, memory_order_release);
}

/* The next caller does the work again.  For the child of fork(), where its effect is lost. */
static inline void hp_once_reset(struct hp_once *once)
{
	atomic_store(&once->state, HP_ONCE_NEW);
}

#endif
