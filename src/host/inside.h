/*
 * What those who pin and unpin (pin.c, promote.c, behind.c, demote.c, ending.c, foreign.c,
 * altered.c) ask of the heap, heap_*(), and of each other, pin_*().
 *
 * Inside host/ only.  heap_*() take the lock heap; the lock pin may be held, where it says so must
 * be.
 */
#ifndef HP_HOST_INSIDE_H
#define HP_HOST_INSIDE_H

#include "host/block.h"

#include <stddef.h>

/*
 * Makes a block in use that is BLOCK_PAGEABLE BLOCK_PINNING, in pieces of `piece` bytes; 0: whole.
 * Returns its room; 0: it is not in use, not pageable, or just being cleared.  Lock pin.
 */
size_t heap_pin_begin(struct block *block, size_t piece);

/*
 * The program changes the mapping of this block: a pageable one is refused to everybody from now
 * on.  False: it is not in use.  Lock pin.
 */
bool heap_set_altered(struct block *block);

/*
 * Sets block->pin; what the program has altered becomes BLOCK_REFUSED rather than BLOCK_PAGEABLE.
 * Lock pin.
 */
void heap_set_pin(struct block *block, enum block_pin pin);

/* A freed block, pinned by us, that is due to be unpinned; only this caller has it.  Or NULL. */
struct block *heap_take_due(void);

/* Takes back what heap_take_due() gave; its pages go, unless something pins them.  No lock held. */
void heap_return(struct block *block);

/* The program's registration inside `block` is gone: if freed meanwhile, it may be used again. */
void heap_unhold(struct block *block);

/* The budget lacks `bytes`: freed blocks that are pinned are due at once. */
void heap_hurry(size_t bytes);

/*
 * Calls `visit` for each block that is not free space, with the locks pin and heap held: a pin is
 * changed there by keep_set_pin().  Lock pin.
 */
void heap_each(void (*visit)(struct block *block, void *arg), void *arg);

/*
 * Takes the block's room out of the budget and the block into BLOCK_PINNING, if that may be.  Then
 * it is pinned, or pin_give_back() or pin_note_refusal() follows.  No lock held.
 */
bool pin_reserve(struct block *block, uint64_t gain, size_t piece);
void pin_give_back(struct block *block);

/*
 * What the driver answered: it has pinned a block, or has refused one with the CUresult `result`,
 * with `error` of register_end() as in pin_ended().  True: it will not have it, now or ever.  The
 * lock pin is held.
 */
void pin_note_success(void);
bool pin_note_refusal(struct block *block, int result, int error);

/*
 * Our registration of `block` is about to be ended, by this thread.  Returns its owner.  The lock
 * pin is held.
 */
uintptr_t pin_ending(struct block *block);

/*
 * It is over: out of the budget, and the block is `then`.  Where `error` of register_end() says
 * that the driver holds the pages still, they count on and serve nobody: BLOCK_FOREIGN.  The lock
 * pin is held.
 */
void pin_ended(struct block *block, int error, enum block_pin then);

/* It has gone with the context that it was made in.  From heap_each(). */
void pin_lost(struct block *block);

/*
 * Waits until no thread of ours is at work on the block's pin.  The lock pin is held, but not all
 * the time.
 */
void pin_settle(struct block *block);

/*
 * Ends our registration of a BLOCK_PINNED block, which is `then` after that; waits for running
 * kernels, as the driver does.  The lock pin is held, but not meanwhile.
 */
void pin_take_off(struct block *block, enum block_pin then);

/* Does no thread but the calling one, between pin_use_begin() and pin_use_end(), copy? */
bool pin_is_only_user(void);

/* May anything be pinned just now?  A few loads. */
bool pin_allowed(void);

/* Does a capture live? */
bool pin_is_held(void);

/* What of the budget is not taken, bytes.  Two loads. */
size_t pin_room_left(void);

/*
 * Pins the block if it may and can be.  `context` is current in this thread; `gain` is what the
 * copy at hand would gain, 0 in the background.  Calls the driver: no lock may be held.
 */
bool pin_promote(struct block *block, uintptr_t context, uint64_t gain);

/* Has the program registered any memory of the heap's?  The lock pin is held. */
bool foreign_any(void);

#endif
