/* The background pin queue: blocks that the housekeeper will pin. */
#ifndef HP_PIN_BACKGROUND_H
#define HP_PIN_BACKGROUND_H

#include "heap/block.h"

#include <stdbool.h>
#include <stdint.h>

/* Says whether a thread calls pin_in_background().  Until then copies pin blocks themselves. */
void pin_set_background(bool is_there);

/*
 * True if a block is queued.  One load.  A thread that may call the driver then calls
 * pin_in_background().  The device need not be idle.
 */
bool pin_has_queued(void);

/*
 * Queues the block to be pinned with `context` current.  False: no thread calls
 * pin_in_background().  A full queue drops the block; a later copy queues it again.  A block that
 * is queued twice, or freed meanwhile, does no harm.  Takes the lock pin.
 */
bool background_add(struct block *block, uintptr_t context);

/*
 * Drops the entries of `context`.  Waits for a registration in flight in that context:
 * milliseconds, because the driver does not wait for the device.  No lock may be held.
 */
void background_forget(uintptr_t context);

struct background_entry {
	struct block *block;
	uintptr_t context;
};

/*
 * Takes the oldest entry.  Its context cannot end until background_done() is called.  False: the
 * queue is empty.
 */
bool background_next(struct background_entry *ret);
void background_done(void);

/* In the child of fork().  Requires the lock pin. */
void background_after_fork_child(void);

#endif
