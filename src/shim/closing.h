/*
 * What do copies share whose host side is closed until they are over: HOTPIN_ASYNC=all?
 */
#ifndef HP_SHIM_CLOSING_H
#define HP_SHIM_CLOSING_H

#include "base/bare.h"
#include "defer/protect.h"
#include "real/real.h"

#include <stdbool.h>

/* Nothing has spoken against it so far.  One load. */
bool shim_close_allowed(void);

/* All is there that it needs; made by the first who asks, while others are answered false. */
bool shim_close_ready(void);

/* The device is to say that the range's copy is over, behind it on `stream`. */
bool shim_close_ticket(const struct protect_range *range, CUstream stream, bool per_thread);

/*
 * Sees to an event of the current context, for one who sleeps; all three belong together, and start
 * as 0.
 */
bool shim_close_event(_Atomic(CUevent) *event, _Atomic(CUcontext) *context, uint32_t *ends_then);

/* A thread that ended between, or a handler that came, would find ranges half made. */
struct shim_undisturbed {
	hp_mask before;
	int cancellable;
};
struct shim_undisturbed shim_undisturbed_begin(void);
void shim_undisturbed_end(const struct shim_undisturbed *was);

/* Nothing is closed from now on, for good.  Waits for nobody; in handlers too. */
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
