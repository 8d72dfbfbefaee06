/* Deferred copies: orders driver calls behind the uploads that returned early. */
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
 * Returns the tracked stream of the calling thread's synchronous copies.  NULL: a copy must not
 * return early: device work is host-visible (counted), the end of the thread is not attended, or
 * there is no context, event or entry.  The caller has checked the option and that no capture is
 * active.  Asks the driver.
 */
struct tracker_stream *defer_stream(bool per_thread);

/* Called after such a copy was enqueued.  Waits for it if another thread has taken the entry. */
void defer_add(struct tracker_stream *tracked, bool per_thread);

/*
 * While copies are in flight: true if a deferred upload was the last work of this thread, apart
 * from other copies.
 */
bool defer_upload_is_last(void);

/*
 * Returns the tracked stream that a synchronous download will wait for, and its word.  The caller
 * passes both to tracker_complete() after the download.  NULL: that stream is not tracked.
 */
struct tracker_stream *defer_seen(bool per_thread, tracker_word *ret_word);

#endif
