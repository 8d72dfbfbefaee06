/*
 * The steps before fork(), and after it in parent and child.
 */
#ifndef HP_SHIM_LOAD_FORK_H
#define HP_SHIM_LOAD_FORK_H

/*
 * Registers the handlers for fork() and for the ends of threads.  Only the first call has an
 * effect.
 */
void shim_watch_forks(void);

#endif
