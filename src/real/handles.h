/*
 * The driver's answers about contexts and streams, whose handles are reused.
 */
#ifndef HP_REAL_HANDLES_H
#define HP_REAL_HANDLES_H

#include "real/real.h"

#include <stdbool.h>

/*
 * Finds the current context and its id, 0: not known.  A later context may have the same handle,
 * but never the same id.  False: there is no current context.
 */
bool handles_context(CUcontext *ret, unsigned long long *ret_id);

/*
 * Returns the id of a stream of the current context; 0: not known.  `per_thread`: NULL means the
 * thread's own stream.
 */
unsigned long long handles_stream_id(CUstream stream, bool per_thread);

/* True if the stream is the context's, as every special handle is. */
bool handles_stream_is_of(CUstream stream, CUcontext context);

/*
 * Returns flags for our events in the current context: no times; blocking waits where the program
 * wants its threads to sleep while they wait.
 */
unsigned handles_event_flags(void);

#endif
