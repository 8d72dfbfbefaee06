/*
 * Which copy pins its block: before the copy, or by the queue.
 */
#ifndef HP_PIN_PINNING_H
#define HP_PIN_PINNING_H

#include "heap/block.h"
#include "pin/use.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Enters the block for a copy of `bytes` between the block and the device, as pin_enter(), in the
 * thread that copies, with its context current.  Counts the bytes of the copy, and pins the block
 * before if that pays.  Calls the driver, which does not wait for the device; holds no lock.
 */
enum pin_use pin_before_copy(struct block *block, bool to_device, size_t bytes, const void *frame);

/*
 * Many small copies may make it worth pinning a block.  No copy waits for that pin: all of them run
 * pageable until the housekeeper has pinned the block.
 *
 * Pins queued blocks until at least `bytes_most` bytes are done, or no block can be pinned now: a
 * block with users waits for the last of them.  With 0 bytes nothing is pinned, and the driver is
 * not called: words that users have left to this thread are given back, because others wait for
 * them.  Called by one thread, in which no context is current; the driver does not wait for the
 * device.  Returns the bytes pinned.
 */
size_t pin_queued(size_t bytes_most);

/* No queued block is pinned in `context` any more; 0: in any context.  pin_hold() is in force. */
void pin_queue_forget(uintptr_t context);

#endif
