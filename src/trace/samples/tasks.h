/*
 * Lists the threads of this process, as the kernel knows them.
 */
#ifndef HP_TRACE_SAMPLES_TASKS_H
#define HP_TRACE_SAMPLES_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes the numbers of at most `most` threads, without hotpin's own, in the kernel's order, the
 * oldest first.  Returns the number of all threads; those after the first `most` are not written.
 * Without /proc: 0.
 */
size_t tasks_list(pid_t *ret, size_t most);

/*
 * Call this when the first thread has ended.  True if no other thread of the program lives;
 * `ret_code`: the status of the first thread, in the form of waitpid(2).
 */
bool tasks_have_ended(int *ret_code);

/*
 * Returns the CPU clock of a thread.  clock_getcpuclockid(3) would need a pthread_t.  The numbers
 * are CPUCLOCK_PERTHREAD_MASK and CPUCLOCK_SCHED of linux/posix-timers.h.
 */
static inline clockid_t tasks_clock(pid_t tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 6);
}

/* True if a seccomp filter checks the system calls of that thread, or if this is unknown. */
bool tasks_is_filtered(pid_t tid);

#endif
