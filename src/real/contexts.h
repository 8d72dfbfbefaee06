/*
 * The contexts of this process, and the rooms that are told when one ends.
 */
#ifndef HP_REAL_CONTEXTS_H
#define HP_REAL_CONTEXTS_H

#include "real/real.h"

#define CONTEXTS_MOST 32

/* The functions that a room runs when a context ends.  Either may be NULL. */
struct contexts_watcher {
	/* The program is about to destroy, reset or release the context. */
	void (*ending)(CUcontext context);

	/* The driver has returned.  `gone`: the context has ended; otherwise it still exists. */
	void (*ended)(CUcontext context, bool gone);
};

/*
 * Sets the watchers, once, before the first context is created.  `ending` functions run in the
 * order of the list, `ended` functions in reverse.
 */
void contexts_watch(const struct contexts_watcher *watchers, unsigned count);

/* Tell the watchers.  Both are called in the same thread, without a lock. */
void contexts_ending(CUcontext context);
void contexts_ended(CUcontext context, bool gone);

/* Notes a context that was created or retained.  True if it was not in the list. */
bool contexts_made(CUcontext context);

/*
 * Lists the contexts that exist.  Returns their number, or -1 if there were too many to remember.
 * The handles stay valid while the caller is in the driver section (engine/section.h).
 */
int contexts_list(CUcontext list[CONTEXTS_MOST]);

/*
 * Returns the number of contexts that have ended.  Events of such a context are invalid.
 */
uint32_t contexts_generation(void);

/*
 * Calls cuCtxRecordEvent(): `event` covers all work that was submitted to `context` before this
 * call.  Returns CUDA_ERROR_NOT_SUPPORTED if the driver, or the toolkit that hotpin was built with,
 * is older than CUDA 12.5.
 */
CUresult contexts_record(CUcontext context, CUevent event);

#endif
