/*
 * What becomes of blocks that nobody uses any more?
 *
 * Inside host/ only.
 */
#ifndef HP_HOST_RETIRE_H
#define HP_HOST_RETIRE_H

#include "host/block.h"

/*
 * A block that is BLOCK_LEAVING becomes free: parked, kept, held, or what it returns, which the
 * caller gives to retire_list() without the lock.  Lock heap.
 */
struct block *retire_block(struct block *block);

/* Now and then, and where more is kept than may be: what retire_list() shall have.  Lock heap. */
struct block *retire_sweep(uint64_t now);

/*
 * Blocks that are BLOCK_LEAVING, a list by `next`, become free space.  No lock; errno is kept.
 * What the kernel does not take back is kept.
 */
void retire_list(struct block *list);

/* Gives back all of what nothing pins that is above the bound, in bytes.  No lock; errno is kept.
 */
size_t retire_all(void);

/* Sets the bound of what is kept, anew or for another kind of process.  Lock heap. */
void retire_set_bound(void);
void retire_set_device(bool is_there);
void retire_set_attended(bool is);

/* heap_yield_below(), and whether so large a block gets no new pages now.  Lock heap. */
void retire_set_yielding(size_t below);
bool retire_yields(size_t bytes);

#endif
