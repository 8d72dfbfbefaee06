/*
 * The rooms that keep state of contexts, in the order in which they are told that one ends.
 */
#ifndef HP_ENGINE_CONTEXT_WATCHERS_H
#define HP_ENGINE_CONTEXT_WATCHERS_H

/* Hands the list to real/contexts.h.  Once, at the start. */
void context_watchers_start(void);

#endif
