/*
 * The profile of a process that ends by _exit().
 */
#ifndef HP_SHIM_LOAD_FINISH_H
#define HP_SHIM_LOAD_FINISH_H

/* Makes _exit() write the profile too.  Once, where there is one. */
void shim_finish_prepare(void);

/*
 * _exit() calls it first; `status` -1: not known.  Safe in a signal handler; takes two seconds at
 * most.
 */
void shim_finish_at_once(int status);

#endif
