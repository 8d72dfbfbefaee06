/*
 * Deferred copies: what must happen before which driver call, because of them.
 */
#ifndef HP_ENGINE_DEFER_H
#define HP_ENGINE_DEFER_H

#include "engine/gate.h"
#include "engine/tracker.h"
#include "engine/visibility.h"

/* Called while copies are in flight: orders `row`, which is about to run on `stream`. */
void defer_gate(enum real_row row, CUstream stream);

/* The host waits for all deferred copies, or for those on the calling thread's own stream. */
void defer_join(void);
void defer_join_own(void);

/* Returns the number of the calling thread, as the tracker names it; never 0. */
uint32_t defer_thread(void);

/*
 * Returns the tracked stream of the calling thread's synchronous copies, if such a copy may return
 * early now as far as device work is host-visible; else NULL, counted.  The caller knows that the
 * option allows it and that no capture lives.  Asks the driver.
 */
struct tracker_stream *defer_stream(bool per_thread);

/* The upload that defer_stream() was called for has been enqueued. */
void defer_add(struct tracker_stream *tracked, bool per_thread);

/*
 * While copies are in flight: true if a deferred upload was the last work of this thread, apart
 * from other copies.
 */
bool defer_upload_is_last(void);

/*
 * Returns the tracked stream of a copy that waits for all that is in flight there, and its word:
 * when the copy has returned, tracker_complete() may be told.  NULL: nothing is tracked.
 */
struct tracker_stream *defer_seen(bool per_thread, tracker_word *ret_word);

#endif
