/* Registers the rooms that keep state of contexts.  Each room is told when a context ends. */
#ifndef HP_ENGINE_CONTEXT_WATCHERS_H
#define HP_ENGINE_CONTEXT_WATCHERS_H

/* Passes the list to contexts_watch().  Called once, at the start. */
void context_watchers_start(void);

#endif
