/*
 * The steps before fork(), and after it in parent and child.
 */
#ifndef HP_SHIM_LOAD_FORK_H
#define HP_SHIM_LOAD_FORK_H

#include <stdbool.h>

/*
 * Registers the handlers for fork() and for the ends of threads, at the first call.  False if the
 * handlers for fork() cannot be registered: a child would inherit locks that other threads hold,
 * and pages that the device still writes.
 */
bool shim_watch_forks(void);

#endif
