/*
 * Counts the active stream captures.  While there is one, nothing is pinned.
 *
 * Registering memory in any thread invalidates a capture of mode GLOBAL.  The count covers all
 * threads and costs copies nothing.  A capture that ends with its context stays counted: nothing is
 * pinned any more, which is safe.
 */
#ifndef HP_ENGINE_CAPTURE_H
#define HP_ENGINE_CAPTURE_H

#include "real/real.h"

#include <stdbool.h>

/*
 * Called before the driver begins a capture on `stream`; `per_thread`: stream 0 is the thread's
 * own. capture_begun() must follow in the same thread.  Waits only if the legacy stream waits for
 * `stream`: for hotpin's copies on the legacy stream that other threads have begun.
 */
void capture_begin(CUstream stream, bool per_thread);

/*
 * The program may begin captures by a function that hotpin does not know.  From now on one counts
 * as active for good.
 */
void capture_unseen(void);

/* Called after the driver returned `result` for a capture on `stream`.  Returns `result`. */
CUresult capture_begun(CUresult result, CUstream stream);

/*
 * True if a capture is active that began on `stream`: it ends with its stream.  False also if there
 * were too many captures to remember this one.
 */
bool capture_ends_with(CUstream stream);

/* Called when the capture that began on `stream` has ended. */
void capture_ended(CUstream stream);

#endif
