/*
 * The profile at the end of a process, also by _exit() or quick_exit().
 */
#ifndef HP_SHIM_LOAD_EXIT_H
#define HP_SHIM_LOAD_EXIT_H

/* Writes the profile; later calls do nothing. */
void exit_report(void);

/* Makes _exit() and quick_exit() write the profile too.  Called if there is a profile. */
void exit_prepare(void);

/*
 * Ends the process, since all threads of the program have ended, as libc or the kernel would have
 * done without hotpin's threads.  `status` is the first thread's, in the form of waitpid(2).  Does
 * not wait.
 */
void exit_with_program(int status);

#endif
