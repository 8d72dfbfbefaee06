/*
 * fork(): what happens before it, and after it in parent and child.
 */
#ifndef HP_SHIM_LOAD_FORK_H
#define HP_SHIM_LOAD_FORK_H

/* Registers the handlers for fork() and for the ends of threads.  The first call counts. */
void shim_watch_forks(void);

#endif
