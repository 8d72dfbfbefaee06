/*
 * The threads of this process, as the kernel lists them.
 */
#ifndef HP_TRACE_TASKS_H
#define HP_TRACE_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes the numbers of `most` threads at most, except hotpin's own, in the kernel's order, the
 * oldest first.  Returns how many there are, of which more than `most` may have been left out.
 * Without /proc: the first thread alone.
 */
size_t tasks_list(pid_t *ret, size_t most);

/* True if a seccomp filter judges the system calls of that thread, or if that is not known. */
bool tasks_is_filtered(pid_t tid);

#endif
