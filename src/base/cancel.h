/*
 * Sections in which pthread_cancel() does not end the calling thread.
 *
 * A thread that is canceled while it is counted, for instance as a copy in progress, would stay
 * counted forever.  The driver has cancellation points, so code that counts a thread does it in
 * such a section; base/users.c does it for its callers.  A request that arrives inside stays
 * pending until the thread's first cancellation point after the section.
 *
 * With PTHREAD_CANCEL_ASYNCHRONOUS the thread ends in hp_uncancellable_end() if a request is
 * pending.  Outside of such sections hotpin is as unsafe then as libc's functions (pthreads(7),
 * async-cancel-safe functions).
 */
#ifndef HP_BASE_CANCEL_H
#define HP_BASE_CANCEL_H

/*
 * One thread calls these in pairs; pairs may be nested.  The outermost end restores the state that
 * the outermost begin found.  The counts must be undone before the end.  The outermost pair costs
 * two atomic operations on thread-local memory, an inner pair none.
 */
void hp_uncancellable_begin(void);
void hp_uncancellable_end(void);

#endif
