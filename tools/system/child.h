/*
 * Child processes for work that may be endless or crash.
 */
#ifndef HP_TOOLS_SYSTEM_CHILD_H
#define HP_TOOLS_SYSTEM_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct child {
	FILE *answers; /* what it writes to stdout; NULL: it was not started */
	pid_t pid;
};

/*
 * Runs `body` in a child.  False: it could not be started.  child_end() must follow.
 *
 * mib_most: for work on a stranger's file.  The child may take so many more MiB of address space,
 * has no stdin and no stderr, and writes no files.  Its CPU time is limited, and the time of all
 * such children together.  0: the child has no limits.
 */
bool child_start(struct child *ret, unsigned mib_most, void (*body)(void *arg), void *arg);

/* Returns the status as by waitpid(), or -1. */
int child_end(struct child *child);

#endif
