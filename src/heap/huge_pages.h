/*
 * Decides which blocks get 2 MiB pages.
 *
 * Blocks that are copied and used all over get them: one page fault then serves 512 pages, and
 * pinning costs a third.  A block that is touched here and there would only grow.
 *
 * Inside src/heap and src/pin.  Functions without a comment on locks run in any thread and under
 * any lock.
 */
#ifndef HP_HEAP_HUGE_PAGES_H
#define HP_HEAP_HUGE_PAGES_H

#include "base/kernel.h"
#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True if this process uses CUDA. */
extern _Atomic bool huge_device;

/*
 * True if the kernel would use 2 MiB pages everywhere (limits_huge_everywhere()).  Then the heap
 * forbids them, and asks for them for every block of 2 MiB or more.  Constant once the heap has a
 * range.
 */
extern _Atomic bool huge_everywhere;

/*
 * True if the last block of the allocation site that was copied whole had no untouched pages.
 * False, too, if there was none, if it is forgotten, and of site 0.
 */
bool huge_site_is_dense(uint32_t site);
void huge_note_site(uint32_t site, bool is_dense);

/* True if a block of `bytes` for the site gets 2 MiB pages. */
static inline bool huge_decide(size_t bytes, uint32_t site)
{
	return bytes >= HP_HUGE_PAGE_BYTES &&
	       (atomic_load_explicit(&huge_everywhere, memory_order_relaxed) ||
		(atomic_load_explicit(&huge_device, memory_order_relaxed) &&
		 huge_site_is_dense(site)));
}

/*
 * True if this free block suits a request that wants 2 MiB pages, or does not.  They make a sparse
 * user large, unless the block is pinned and therefore resident anyway.  A block that got them by
 * its first copy goes back to its site.
 */
static inline bool huge_suits(const struct block *block, bool wanted, uint32_t site)
{
	return wanted || block->touched == 0 ||
	       !atomic_load_explicit(&block->huge, memory_order_relaxed) ||
	       block_pin(block) == BLOCK_PINNED ||
	       (site != 0 && atomic_load_explicit(&block->site, memory_order_relaxed) == site);
}

/*
 * True if the freed block should give its pages back because the next block of its site would get
 * 2 MiB pages.
 */
bool huge_would_be_better(const struct block *block);

/*
 * Called before a copy of `bytes` of a block in use.  Learns from the first copy whether blocks of
 * its site are dense.  Asks for 2 MiB pages if the copy will be the first to write to the block.
 * No lock may be held; keeps errno.
 */
void huge_before_copy(struct block *block, bool to_device, size_t bytes);

/*
 * Called when the program asks for 2 MiB pages in a range.  The advice must end with the blocks
 * there, as it would with a mapping of libc's.  Lock-free.
 */
void huge_advised(const void *address, size_t bytes);

#endif
