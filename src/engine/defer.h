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

/* Waits for all deferred copies.  Ends deferral if the thread is not the first one. */
void defer_join(void);

/*
 * Called before a call of the program that only threads that use CUDA make.  A call of a second
 * thread ends deferral, and waits for the copies that are deferred by then.
 */
void defer_called(void);

/*
 * True if a synchronous copy on the legacy stream may return early.  False: another thread has
 * called, device work is host-visible (counted), or there is no context or event.  The caller has
 * checked the option and that no capture is active.  Asks the driver.
 */
bool defer_is_possible(void);

/* Called after such a copy was enqueued.  Waits for it if deferral has ended. */
void defer_add(void);

/*
 * While copies are in flight: true if a deferred upload was the last work of the thread, apart from
 * other copies.
 */
bool defer_upload_is_last(void);

/*
 * True if a synchronous download on the legacy stream waits for all deferred copies: the caller
 * reports that they are complete.
 */
bool defer_is_awaited(void);

#endif
