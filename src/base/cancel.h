/*
 * Sections in which pthread_cancel() does not end the calling thread.
 *
 * A thread that ended while it is counted, as a copy in progress for instance, would stay counted
 * for ever.  The driver has cancellation points, so whoever counts a thread brackets the count with
 * these.  A request that arrives inside stays pending; it is acted upon at the thread's first
 * cancellation point after the section.
 *
 * With PTHREAD_CANCEL_ASYNCHRONOUS the sections hold likewise, and a pending request is acted upon
 * in hp_uncancellable_end().  Outside of them nothing is promised, as libc promises nothing of its
 * own functions then (pthreads(7), async-cancel-safe functions).
 */
#ifndef HP_BASE_CANCEL_H
#define HP_BASE_CANCEL_H

/*
 * In pairs, by one thread; sections may be nested.  The last end restores the state that the first
 * begin found.  What the section protects is undone before its end.  The outermost pair costs two
 * atomic operations on memory of the thread's own, an inner pair none.
 */
void hp_uncancellable_begin(void);
void hp_uncancellable_end(void);

#endif
