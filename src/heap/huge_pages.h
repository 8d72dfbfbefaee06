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

/*
 * Says whether this process uses CUDA, and what its cgroup leaves of the RAM.  Requires the lock
 * heap.
 */
void huge_set_device(bool is_there, size_t ram, size_t left);

/* True if this process uses CUDA.  Changed under the lock heap, read by any thread. */
extern _Atomic bool huge_device;

enum huge_verdict {
	HUGE_NOT,
	HUGE_TRIAL,  /* nothing is known of the site yet */
	HUGE_PROVEN, /* copies have shown that they pay */
};

/*
 * Decides for a block of `room` of this allocation site.  Looks at the pages of the site's block
 * on trial.  Lock-free; keeps errno.
 */
enum huge_verdict huge_decide_by_site(size_t room, uint32_t site, uintptr_t *ret_trial);

/*
 * The same, with a fast path for most blocks.  *ret_trial: the site's block on trial; 0: unknown.
 */
static inline enum huge_verdict huge_decide(size_t room, uint32_t site, uintptr_t *ret_trial)
{
	*ret_trial = 0;
	if (room < HP_HUGE_PAGE_BYTES || !atomic_load_explicit(&huge_device, memory_order_relaxed))
		return HUGE_NOT;
	return huge_decide_by_site(room, site, ret_trial);
}

/*
 * Claims 2 MiB pages for a block that was not copied yet.  False: too many blocks have a claim.
 * Requires the lock heap.
 */
bool huge_claim(size_t room, enum huge_verdict verdict);

/*
 * True if this free block suits the decision.  2 MiB pages make a sparse user large, unless the
 * block is pinned and therefore resident anyway.  Any thread, any lock.
 */
static inline bool huge_suits(const struct block *block, size_t room, enum huge_verdict verdict)
{
	return verdict != HUGE_NOT || room < HP_HUGE_PAGE_BYTES ||
	       !atomic_load_explicit(&block->huge, memory_order_relaxed) ||
	       block_pin(block) == BLOCK_PINNED;
}

/*
 * Returns the end of the 2 MiB pages of a new block that is handed out for this decision.  Sets
 * its probe.
 */
uintptr_t huge_end(struct block *block, enum huge_verdict verdict);

/* Notes that the site, whose block on trial is `trial`, has received this block.  Any lock. */
static inline void huge_handed_out(const struct block *block, enum huge_verdict verdict,
				   uintptr_t trial, uint32_t site)
{
	uintptr_t base = atomic_load_explicit(&block->base, memory_order_relaxed);

	if (verdict == HUGE_TRIAL && base != trial &&
	    atomic_load_explicit(&block->huge, memory_order_relaxed))
		site_set_trial(site, base);
}

/*
 * True if the freed block should give its pages back because the next block of its site would get
 * 2 MiB pages.  Requires the lock heap.
 */
bool huge_would_be_better(const struct block *block);

/*
 * Called before a copy of `bytes` of a block in use.  Learns from the first copy whether blocks of
 * its site are dense.  Asks for 2 MiB pages if the copy will be the first to write to the block.
 * No lock may be held; keeps errno.
 */
void huge_before_copy(struct block *block, bool to_device, size_t bytes);

#endif
