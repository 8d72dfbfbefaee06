/*
 * The queue of blocks that the housekeeper pins.
 *
 * Many small copies may make it worth pinning a block.  No copy waits for that pin: all of them run
 * pageable until the housekeeper has pinned the block.  The queue does not keep a block alive.
 */
#ifndef HP_PIN_QUEUE_H
#define HP_PIN_QUEUE_H

#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Says that a thread calls pin_queued() whenever `wake` was called.  Until then copies pin blocks
 * themselves.  `wake` is called with no lock held.
 */
void pin_set_queue(void (*wake)(void));

/* True if pin_queued() has something to do.  One load. */
bool pin_has_queued(void);

/*
 * Pins queued blocks until at least `bytes_most` bytes are done, or no block can be pinned now: a
 * block with users waits for the last of them.  Called by one thread, in which no context is
 * current; calls the driver, which does not wait for the device.  Returns the bytes pinned.
 */
size_t pin_queued(size_t bytes_most);

/* The functions from here on are for src/pin only. */

/*
 * Queues the block to be pinned with `context` current.  False: there is no thread.  A full queue
 * drops the block; a later copy queues it again.
 */
bool queue_add(struct block *block, uintptr_t context);

/* Called after a last user has left a marked block. */
void queue_wake(void);

/* No queued block is pinned in `context` any more. */
void queue_forget(uintptr_t context);

/* In the child of fork().  Requires the lock pin. */
void queue_after_fork_child(void);

#endif
