/*
 * Changes of the pin state of blocks, and the freed blocks that are still pinned.
 *
 * For src/pin only.  Every function takes the lock heap.  The lock pin may be held; where a
 * function requires it, its comment says so.
 */
#ifndef HP_HEAP_PIN_STATE_H
#define HP_HEAP_PIN_STATE_H

#include "heap/block.h"

#include <stddef.h>

/*
 * Makes a BLOCK_PAGEABLE block in use BLOCK_PINNING.  Returns its room; 0: it is not in use, or not
 * pageable, or freed blocks that are still pinned exceed the bound of the cache.  Requires the lock
 * pin.
 */
size_t heap_pin_begin(struct block *block);

/*
 * Notes that the program changes the mapping of this block: a pageable block becomes BLOCK_REFUSED.
 * False: the block is not in use.  Requires the lock pin.
 */
bool heap_set_altered(struct block *block);

/*
 * Sets block->pin.  A block with a changed mapping becomes BLOCK_REFUSED instead of
 * BLOCK_PAGEABLE. Requires the lock pin.
 */
void heap_set_pin(struct block *block, enum block_pin pin);

/*
 * The same for a caller that holds the lock heap, as the callbacks of heap_each() do.  Wakes
 * pin_change_begin().
 */
void heap_set_pin_locked(struct block *block, enum block_pin pin);

/*
 * Takes a freed block that we have pinned and that is due to be unpinned, for this caller alone.
 * NULL: none.
 */
struct block *heap_take_due(void);

/*
 * Takes back a block of heap_take_due(), and gives its pages back unless it is pinned.  No lock
 * may be held.
 */
void heap_return(struct block *block);

/*
 * Called when the program's registration inside the block has ended: the block may be used again if
 * it was freed meanwhile.
 */
void heap_unhold(struct block *block);

/* Makes `bytes` of freed pinned blocks due at once, to free that much of the budget. */
void heap_set_reclaim_target(size_t bytes);

/*
 * Calls `call` for each block that is not free space, with the locks pin and heap held.  `call`
 * changes a pin by heap_set_pin_locked().  Requires the lock pin.
 */
void heap_each(void (*call)(struct block *block, void *arg), void *arg);

#endif
