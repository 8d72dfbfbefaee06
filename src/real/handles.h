/*
 * Identifies contexts, whose handles the driver reuses, and the contexts of streams.
 */
#ifndef HP_REAL_HANDLES_H
#define HP_REAL_HANDLES_H

#include "real/real.h"

#include <stdbool.h>

/*
 * Finds the current context and its id; 0: unknown.  A later context may have the same handle, but
 * never the same id.  False: there is no current context.
 */
bool handles_context(CUcontext *ret, unsigned long long *ret_id);

/* True if the stream belongs to the context.  Every special handle does. */
bool handles_stream_is_of(CUstream stream, CUcontext context);

/*
 * Returns flags for hotpin's events in the current context: no timing, and blocking waits if the
 * context was created with blocking waits.
 */
unsigned handles_event_flags(void);

#endif
