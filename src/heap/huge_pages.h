/*
 * Decides which blocks get 2 MiB pages.
 *
 * Blocks that are copied and used all over get them: one page fault then serves 512 pages, and
 * pinning costs a third.  A block that is touched here and there would only grow.
 *
 * Inside src/heap and src/pin.
 */
#ifndef HP_HEAP_HUGE_PAGES_H
#define HP_HEAP_HUGE_PAGES_H

#include "base/kernel.h"
#include "heap/block.h"
#include "heap/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if this process uses CUDA.  Any thread. */
extern _Atomic bool huge_device;

/* True if a block of `room` of this allocation site gets 2 MiB pages.  Any thread, any lock. */
static inline bool huge_decide(size_t room, uint32_t site)
{
	return room >= HP_HUGE_PAGE_BYTES &&
	       atomic_load_explicit(&huge_device, memory_order_relaxed) && site_is_dense(site);
}

/*
 * True if this free block suits the decision.  2 MiB pages make a sparse user large, unless the
 * block is pinned and therefore resident anyway.  Any thread, any lock.
 */
static inline bool huge_suits(const struct block *block, size_t room, bool wanted)
{
	return wanted || room < HP_HUGE_PAGE_BYTES ||
	       !atomic_load_explicit(&block->huge, memory_order_relaxed) ||
	       atomic_load_explicit(&block->pin, memory_order_relaxed) == BLOCK_PINNED;
}

/* Called before the block is freed: the site learns whether it was copied whole.  Any lock. */
void huge_freed(const struct block *block);

/*
 * True if the freed block should give its pages back because the next block of its site would get
 * 2 MiB pages.  Requires the lock heap.
 */
bool huge_would_be_better(const struct block *block);

/*
 * Called before a copy of `bytes` of a block in use.  Learns from the first copy of the whole block
 * whether it is dense.  Asks for 2 MiB pages if the copy will be the first to write to the block.
 * No lock may be held; keeps errno.
 */
void huge_before_copy(struct block *block, bool to_device, size_t bytes);

#endif
