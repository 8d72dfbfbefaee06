/*
 * The environment variables that the options are read from.
 */
#ifndef HP_SHIM_LOAD_ENVIRONMENT_H
#define HP_SHIM_LOAD_ENVIRONMENT_H

/*
 * Returns the program's environment.  If it has HOTPIN=0, or the program runs with raised
 * privileges, returns HOTPIN=0 alone, so that no other entry is read or warned about.  Called once,
 * before there is a second thread.
 */
char *const *environment_of_options(void);

#endif
