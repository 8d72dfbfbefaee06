/*
 * What are the options read from?
 */
#ifndef HP_SHIM_LOAD_ENVIRONMENT_H
#define HP_SHIM_LOAD_ENVIRONMENT_H

/*
 * NULL: from nothing.  Switched off, nothing else is of interest or worth a warning.  Once, before
 * there is a second thread.
 */
char *const *shim_environment(void);

#endif
