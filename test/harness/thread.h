/*
 * Finds out about the other threads of this process, by /proc.
 */
#ifndef HP_HARNESS_THREAD_H
#define HP_HARNESS_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * True if the thread `id` (gettid()) sleeps in the kernel: it waits for another thread, or polls
 * with pauses.  A thread that only waits for a CPU is not blocked.
 */
bool thread_is_blocked(pid_t id);

/* Returns the rest of the line of /proc/self/task/<task>/status that begins with `name`, or "". */
void thread_field(const char *task, const char *name, char *ret, size_t room);

/* Counts the other threads, but not the kernel's (io_uring).  Calls `look` for each unless NULL. */
int thread_each_other(void (*look)(const char *task));

#endif
