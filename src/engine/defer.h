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

/* Waits for all deferred copies. */
void defer_join(void);

/*
 * Returns the tracked stream of synchronous copies on the legacy stream.  NULL: a copy must not
 * return early: device work is host-visible (counted), or there is no context, event or entry.  The
 * caller has checked the option and that no capture is active.  Asks the driver.
 */
struct tracker_stream *defer_stream(void);

/* Called after such a copy was enqueued. */
void defer_add(struct tracker_stream *tracked);

/*
 * While copies are in flight: true if a deferred upload was the last work of this thread, apart
 * from other copies.
 */
bool defer_upload_is_last(void);

/*
 * Returns the tracked stream that a synchronous download on the legacy stream will wait for, and
 * its word.  The caller passes both to tracker_complete() after the download.  NULL: that stream is
 * not tracked.
 */
struct tracker_stream *defer_seen(tracker_word *ret_word);

#endif
