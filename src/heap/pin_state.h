/*
 * What src/pin does to blocks under the lock heap.
 *
 * For src/pin only.  Every function takes the lock heap.  The lock pin may be held.
 */
#ifndef HP_HEAP_PIN_STATE_H
#define HP_HEAP_PIN_STATE_H

#include "heap/block.h"

#include <stddef.h>

/*
 * Takes the word of a block in use to pin it.  Returns the room of the block.  0: the word is not
 * free for that (word_try_pin()), or freed blocks that are still pinned exceed the bound of the
 * cache.
 */
size_t heap_try_pin(struct block *block);

/*
 * As word_look(), for a block that may have been freed since it was queued.  *ret_room is the
 * room to pin, or 0 if the caller must give the word back.
 */
enum word_look heap_take_queued(struct block *block, size_t *ret_room);

/* word_alter().  False: the block is not in use. */
bool heap_alter(struct block *block, uint32_t bit, bool *ret_taken);

/* word_release(). */
bool heap_release(struct block *block, bool pinned, uint32_t *ret_saw);

/* word_keep(). */
void heap_keep(struct block *block);

/*
 * Takes back a block of heap_take_due(), and gives its pages back unless it is still pinned.  No
 * lock may be held.
 */
void heap_return(struct block *block);

/*
 * Called when the last registration by the program in the block has ended: the block may be used
 * again if it was freed meanwhile.
 */
void heap_unhold(struct block *block);

#endif
