/*
 * The rooms that keep state of contexts, in the order in which they are told that one ends.
 */
#ifndef HP_SHIM_LOAD_WATCHERS_H
#define HP_SHIM_LOAD_WATCHERS_H

/* Hands the list to real/contexts.h.  Once, at the start. */
void shim_watch_contexts(void);

#endif
