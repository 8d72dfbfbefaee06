/*
 * The end of a thread: its own deferred copies are waited for before the driver ends its stream.
 */
#ifndef HP_ENGINE_THREAD_END_H
#define HP_ENGINE_THREAD_END_H

#include <pthread.h>
#include <stdbool.h>

/* The ends of threads are attended from now on.  Once, before anybody else makes a key. */
void thread_end_watch(void);

/* True if the calling thread's own stream will be waited for when the thread ends. */
bool thread_end_is_attended(void);

/* True if `key` is the one that is used for that. */
bool thread_end_is_key(pthread_key_t key);

#endif
