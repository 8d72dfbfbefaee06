/*
 * Waits for a thread's deferred copies when the thread ends, before the driver destroys its stream.
 */
#ifndef HP_ENGINE_THREAD_END_H
#define HP_ENGINE_THREAD_END_H

#include <pthread.h>
#include <stdbool.h>

/* Creates the key.  Called once, before any other key of the process is created. */
void thread_end_watch(void);

/* True if hotpin will wait for the calling thread's own stream when the thread ends. */
bool thread_end_is_attended(void);

/* True if `key` is hotpin's. */
bool thread_end_is_key(pthread_key_t key);

#endif
