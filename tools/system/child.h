/*
 * Child processes for work that a stranger's file may make endless or crash.
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
 * Runs `body` in a child that may take so many more MiB of address space, has no stdin and no
 * stderr, and writes no files.  Its CPU time is limited, and the time of all children together.
 * False: that time is over, or there is no memory for a child.  child_end() must follow.
 */
bool child_start(struct child *ret, unsigned mib_most, void (*body)(void *arg), void *arg);
void child_end(struct child *child);

#endif
