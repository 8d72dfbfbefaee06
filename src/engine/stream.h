/*
 * Questions to the driver about a stream, and waits for one, on our own account.
 */
#ifndef HP_ENGINE_STREAM_H
#define HP_ENGINE_STREAM_H

#include "real/real.h"

#include <stdbool.h>

/* Each takes the stream as the program's call named it; `per_thread`: 0 is the thread's own. */

/* True if work on the stream is being captured, or if the driver cannot tell. */
bool stream_is_captured(CUstream stream, bool per_thread);

/* True if the stream has not completed its work.  One call into the driver; counted. */
bool stream_is_busy(CUstream stream, bool per_thread);

/*
 * True if the legacy stream has work left and this stream is ordered behind it without being it.  A
 * stream without work of its own is idle to stream_is_busy(), whatever it would wait for.
 */
bool stream_is_behind_legacy(CUstream stream, bool per_thread);

/* Waits for the stream, without harm to other threads' captures.  Counted. */
CUresult stream_wait(CUstream stream, bool per_thread);

#endif
