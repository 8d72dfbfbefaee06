/*
 * Frees blocks: to a slot, to the free cache, or back to the kernel.
 *
 * Inside src/heap only.
 */
#ifndef HP_HEAP_RELEASE_H
#define HP_HEAP_RELEASE_H

#include "heap/block.h"

/* An operation gives back at most about so many bytes of expired blocks. */
#define RELEASE_SWEEP_BYTES ((size_t)64 << 20)

/*
 * Parks, caches or holds a block that is BLOCK_LEAVING.  Returns blocks that the caller passes to
 * release_list() without the lock.  Requires the lock heap.
 */
struct block *release_block(struct block *block);

/*
 * Returns expired and excess blocks for release_list(), now and then, or if the cache exceeds its
 * bound.  Requires the lock heap.
 */
struct block *release_sweep(uint64_t now);

/*
 * Makes free space of a list of BLOCK_LEAVING blocks, linked by `next`; blocks that the kernel
 * does not take back are cached.  Returns the bytes of the list.  No lock may be held; keeps
 * errno.
 */
size_t release_list(struct block *list);

#endif
