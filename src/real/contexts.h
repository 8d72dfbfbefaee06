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
void contexts_retained(CUdevice device, CUcontext context);
bool contexts_released(CUdevice device);

/* Returns the device's primary context, which may have ended; NULL: it was never retained. */
CUcontext contexts_primary(CUdevice device);

/*
 * Removes a context that is about to end.  After the driver's call another one may be at its
 * address.  If it lives on, contexts_made() adds it again.
 */
void contexts_forget(CUcontext context);

/*
 * Lists the contexts that exist.  Returns their number, or -1 if there were too many to remember.
 * The handles stay valid while the caller is in the driver section (engine/housekeeper.c).
 */
int contexts_list(CUcontext list[CONTEXTS_MOST]);

/*
 * Returns a number that changes when a context ends.  Events of an earlier generation may be
 * invalid.
 */
uint32_t contexts_generation(void);

/*
 * Returns the id of a context; 0: there is none at this address.  A later context may have the same
 * handle, but never the same id.  Drivers before CUDA 12.0 tell no ids: all contexts have id 1.
 */
unsigned long long contexts_id(CUcontext context);

/* True if the stream belongs to the context.  Every special handle does. */
bool contexts_has_stream(CUcontext context, CUstream stream);

/*
 * Returns flags for hotpin's events in the current context: no timing, and blocking waits if the
 * context was created with blocking waits.
 */
unsigned contexts_event_flags(void);

#endif
