/*
 * Threads of our own.
 */
#ifndef HP_SHIM_THREAD_H
#define HP_SHIM_THREAD_H

/*
 * Runs `body(NULL)` in a detached thread with a small stack that takes none of the program's
 * signals.  Returns 0 or -errno.
 */
int shim_thread_start(void *(*body)(void *));

#endif
