/*
 * Starts hotpin's own threads.
 */
#ifndef HP_BASE_THREAD_H
#define HP_BASE_THREAD_H

#include <stddef.h>

/*
 * Runs `body(NULL)` in a detached thread with `stack_bytes` of stack.  The thread blocks all
 * signals except those of its own faults, and cannot be canceled.  pthread_create() allocates, so
 * do not call this from inside malloc().  Returns 0 or -errno.
 */
int hp_thread_start(void *(*body)(void *), size_t stack_bytes);

#endif
