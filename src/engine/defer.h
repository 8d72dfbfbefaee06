/* Deferred copies: orders every driver call behind the uploads that returned early. */
#ifndef HP_ENGINE_DEFER_H
#define HP_ENGINE_DEFER_H

#include "engine/gate.h"
#include "engine/tracker.h"
#include "engine/visibility.h"

/*
 * Called before `row` runs on `stream`, while deferred copies are in flight.  Orders the call
 * behind them.
 */
void defer_gate(enum real_row row, CUstream stream);

/* Wait for all deferred copies, or for those on the calling thread's own stream. */
void defer_join(void);
void defer_join_own(void);

/*
 * Returns the tracked stream of the calling thread's synchronous copies; NULL (counted): a copy
 * must not return early, because device work is host-visible.  The caller has checked the option
 * and that no capture is active.  Asks the driver.
 */
struct tracker_stream *defer_stream(bool per_thread);

/* Called when the upload that defer_stream() was called for has been enqueued. */
void defer_add(struct tracker_stream *tracked, bool per_thread);

/*
 * While copies are in flight: true if a deferred upload was the last work of this thread, apart
 * from other copies.
 */
bool defer_upload_is_last(void);

/*
 * Returns the tracked stream of a copy that waits for all earlier copies there, and its word for
 * tracker_complete() after the copy.  NULL: nothing is tracked.
 */
struct tracker_stream *defer_seen(bool per_thread, tracker_word *ret_word);

#endif
