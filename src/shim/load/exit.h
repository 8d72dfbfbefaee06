/*
 * The profile at the end of a process, also by _exit() or quick_exit().
 */
#ifndef HP_SHIM_LOAD_EXIT_H
#define HP_SHIM_LOAD_EXIT_H

/* Writes the profile; later calls do nothing. */
void exit_report(void);

/* Makes _exit() and quick_exit() write the profile too.  Called if there is a profile. */
void exit_prepare(void);

#endif
