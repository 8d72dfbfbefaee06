/*
 * Which copy pins its block: before the copy, or in the background.
 */
#ifndef HP_PIN_PINNING_H
#define HP_PIN_PINNING_H

#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Called before a copy of `bytes` between the block and the device, in the thread that copies,
 * with its context current.  Counts the bytes of the copy, and pins the block if that pays.  True
 * if the block is pinned by us when the copy runs.  Calls the driver, which does not wait for the
 * device; holds no lock.
 */
bool pin_before_copy(struct block *block, bool to_device, size_t bytes);

/*
 * Pins queued blocks until at least `bytes_most` bytes are done or the queue is empty.  Calls the
 * driver, which does not wait for the device; holds no lock.  Makes the queued context current for
 * each block; no context is current on return.  Returns the bytes pinned.
 */
size_t pin_in_background(size_t bytes_most);

#endif
