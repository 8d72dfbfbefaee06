/*
 * May a synchronous copy from the device come back before its data is there, and does it?
 *
 * Only with HOTPIN_ASYNC=all.
 */
#ifndef HP_SHIM_FETCHING_H
#define HP_SHIM_FETCHING_H

#include "shim/copy.h"

/*
 * A linear synchronous copy from the device into COPY_PINNED memory, not begun.  True: it has been
 * enqueued, copy->result is set, and whoever touches the destination waits.  False: run it as ever.
 */
bool shim_fetch_deferred(struct shim_copy *copy);

/* The copy is over and was waited for: closes its destination where shim_fetch_deferred() wants to
 * see how soon it is touched. */
void shim_fetch_ended(struct shim_copy *copy);

/* No copy from the device is deferred from now on, for good.  Waits for nobody; in handlers too. */
void shim_fetch_stop(const char *why);

/*
 * Around what nothing may be closed in: until shim_fetch_resume() every copy waits, and those that
 * did not are over when this returns, the watching thread out of the driver.
 */
void shim_fetch_pause(void);
void shim_fetch_resume(void);

/* Something is closed, and a function of the driver is about to run: joins first where it must. */
void shim_fetch_gate(const struct real_driver_fact *fact);

/* In the child of fork(). */
void shim_fetch_after_fork_child(void);

#endif
