/*
 * The profile of a process that ends by _exit() or quick_exit().
 */
#ifndef HP_SHIM_LOAD_QUICK_EXIT_H
#define HP_SHIM_LOAD_QUICK_EXIT_H

/* Makes _exit() say that there is no profile if no device was used.  The constructor calls this. */
void quick_exit_watch(void);

/* Makes _exit() and quick_exit() write the profile too.  Called once, if there is a profile. */
void quick_exit_prepare(void);

#endif
