/*
 * The contexts of this process.  The driver reuses their handles, but not their ids.
 */
#ifndef HP_REAL_CONTEXTS_H
#define HP_REAL_CONTEXTS_H

#include "real/real.h"

#define CONTEXTS_MOST 32

/* Notes a context that was created or retained.  True if it was not in the list. */
bool contexts_made(CUcontext context);

/*
 * Count the program's references of a device's primary context.  contexts_released() is called
 * before the driver's call; true: other references are left, so the context does not end.
 * contexts_retained() is called after a retain that succeeded, or a release that failed.
 */
void contexts_retained(CUdevice device);
bool contexts_released(CUdevice device);

/* Removes a context that has ended. */
void contexts_forget(CUcontext context);

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

/*
 * Finds the current context and its id; 0: unknown.  A later context may have the same handle, but
 * never the same id.  False: there is no current context.
 */
bool contexts_current(CUcontext *ret, unsigned long long *ret_id);

/* True if the stream belongs to the context.  Every special handle does. */
bool contexts_has_stream(CUcontext context, CUstream stream);

/*
 * Returns flags for hotpin's events in the current context: no timing, and blocking waits if the
 * context was created with blocking waits.
 */
unsigned contexts_event_flags(void);

#endif
