/*
 * Copies that have come back early: what must happen before which call, because of them.
 */
#ifndef HP_SHIM_DEFERRING_H
#define HP_SHIM_DEFERRING_H

#include "defer/exposure.h"
#include "defer/ledger.h"
#include "shim/shim.h"

/* The ledger tells the gate.  Once, at the start. */
void shim_defer_start(void);

/* The gate is closed because something is outstanding: `row` is about to run, on `stream`. */
void shim_defer_gate(enum real_row row, CUstream stream);

/* The host waits for all that is outstanding, or for that on the calling thread's own stream. */
void shim_defer_join(void);
void shim_defer_join_own(void);

/* The number of the calling thread, as lanes have it; never 0. */
uint32_t shim_thread(void);

/*
 * The lane of synchronous copies of the calling thread, if such a copy may come back early now: the
 * option says so, nothing exposes it, no capture lives.  Else NULL, counted.  Asks the driver.
 */
struct ledger_lane *shim_defer_lane(bool per_thread);

/* The upload that the lane was asked for has been enqueued: counts it. */
void shim_defer_add(struct ledger_lane *lane, bool per_thread);

/*
 * While something is outstanding: was an upload that came back early the last work of this thread,
 * but for other copies?
 */
bool shim_upload_is_last(void);

/* Threads' ends are attended from now on.  Once, before anybody else makes a key. */
void shim_watch_ends(void);

/*
 * The lane of a copy that waits for all that is outstanding there, and what that is: when it has
 * come back ledger_over() may be told.  NULL: there is none.
 */
struct ledger_lane *shim_defer_seen(bool per_thread, ledger_word *ret_word);

#endif
