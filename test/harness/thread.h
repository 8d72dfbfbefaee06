/*
 * Finds out what another thread of this process is doing, for tests that need it to be blocked.
 */
#ifndef HP_HARNESS_THREAD_H
#define HP_HARNESS_THREAD_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * True if the thread `id` (gettid()) sleeps in the kernel: it waits for another thread, or polls
 * with pauses.  A thread that only waits for a CPU is not blocked.
 */
bool thread_is_blocked(pid_t id);

#endif
