/*
 * The contexts of this process.
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

#endif
