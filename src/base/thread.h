/*
 * Starts hotpin's own threads, and finds out about others.
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

#endif
