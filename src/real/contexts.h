/*
 * The contexts that live in this process, and the rooms that are told when one ends.
 */
#ifndef HP_REAL_CONTEXTS_H
#define HP_REAL_CONTEXTS_H

#include "real/real.h"

#define CONTEXTS_MOST 32

/* What a room does with its state of a context that ends.  Either function may be NULL. */
struct contexts_watcher {
	/* The program is about to destroy, reset or release the context. */
	void (*ending)(CUcontext context);

	/* The driver has returned.  `gone`: the context has ended; else it lives on. */
	void (*ended)(CUcontext context, bool gone);
};

/*
 * Sets the watchers, once, before the first context is made.  `ending` functions run in the order
 * of the list, `ended` functions in reverse.
 */
void contexts_watch(const struct contexts_watcher *watchers, unsigned count);

/* Tells the watchers.  The second follows the first in the same thread.  No lock is held. */
void contexts_ending(CUcontext context);
void contexts_ended(CUcontext context, bool gone);

/* A context has been made or retained.  True: it was not in the list. */
bool contexts_made(CUcontext context);

/*
 * Lists the contexts made or retained so far and not yet gone.  Returns how many, or -1: there were
 * too many to know.  The handles stay good for as long as the caller is in the driver section
 * (engine/section.h).
 */
int contexts_list(CUcontext list[CONTEXTS_MOST]);

/*
 * Returns the generation: how many contexts have gone.  An event of a context that has gone must
 * not be named any more.
 */
uint32_t contexts_generation(void);

/*
 * cuCtxRecordEvent(): `event` covers all work that `context` has been given so far.
 * CUDA_ERROR_NOT_SUPPORTED where the driver is older than CUDA 12.5, or what hotpin was built with.
 */
CUresult contexts_record(CUcontext context, CUevent event);

#endif
