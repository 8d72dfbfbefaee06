/*
 * Code in which the calling thread is not canceled.
 *
 * The driver has cancellation points.  A thread that counts or marks itself during a driver call
 * would stay counted forever.
 */
#ifndef HP_BASE_CANCEL_H
#define HP_BASE_CANCEL_H

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

#endif
