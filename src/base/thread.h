/*
 * Starts hotpin's own threads, finds out about others, and keeps them from being canceled.
 *
 * The driver has cancellation points.  A thread that counts or marks itself during a driver call
 * would stay counted forever.
 */
#ifndef HP_BASE_THREAD_H
#define HP_BASE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Runs `body(NULL)` in a detached thread with `stack_bytes` of stack.  The thread blocks all
 * signals, and cannot be canceled.  pthread_create() allocates, so do not call this from inside
 * malloc().  Returns 0 or -errno.
 */
int hp_thread_start(void *(*body)(void *), size_t stack_bytes);

/* True if `tid`, a kernel thread id other than 0, is a thread of hotpin's.  Any thread. */
bool hp_thread_is_ours(pid_t tid);

/* True while hp_thread_is_ours() does not know all of them. */
bool hp_threads_are_starting(void);

/* In the child of fork(): hotpin has no threads. */
void hp_threads_after_fork_child(void);

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
