/*
 * The pin policy: which copy pins its block, and whether the copy waits for that.
 */
#ifndef HP_PIN_POLICY_H
#define HP_PIN_POLICY_H

#include "pin/pinning.h"

/*
 * Called before a copy of `bytes` between the block and the device, in the thread that copies,
 * with its context current.  Adds the copy to the cost of the block, and pins the block if that
 * pays.  True if the block is pinned by us when the copy runs.  Calls the driver, which does not
 * wait for the device; holds no lock.
 *
 * `ret_pipeline` is NULL, or all zero if the copy can be cut.  Then the block may be returned in
 * it, to be pinned by pipelined registration.  Only between pin_use_begin() and pin_use_end().
 */
bool pin_before_copy(struct block *block, bool to_device, size_t bytes,
		     struct pin_pipeline *ret_pipeline);

/* True if pin_before_copy() may return a pipeline for the block.  A few loads. */
bool pin_would_pipeline(const struct block *block);

/*
 * Pins queued blocks until at least `bytes_most` bytes are done or the queue is empty.  Calls the
 * driver, which does not wait for the device; holds no lock.  Makes the queued context current for
 * each block; no context is current on return.  Returns the bytes pinned.
 */
size_t pin_in_background(size_t bytes_most);

#endif
