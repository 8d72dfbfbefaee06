/*
 * Which blocks get 2 MiB pages?
 *
 * Those that are copied and used all over: there a page fault serves 512 pages at once, and pinning
 * costs a third.  What is touched here and there would only grow.
 *
 * Inside host/ only.
 */
#ifndef HP_HOST_HUGE_H
#define HP_HOST_HUGE_H

#include "base/kernel.h"
#include "host/block.h"
#include "host/site.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does this process use CUDA, and what of the RAM does its cgroup leave it?  Lock heap. */
void huge_set_device(bool is_there, size_t ram, size_t left);

extern _Atomic bool huge_device;

enum huge_wish {
	HUGE_NOT,
	HUGE_TRIAL,  /* nothing is known of the site yet */
	HUGE_PROVEN, /* copies have shown that they pay */
};

/*
 * Shall a block of `room` that this site asks for have 2 MiB pages, if it may?  Lock-free; looks at
 * the pages of the block that the site has on trial, errno is kept.
 */
enum huge_wish huge_ask(size_t room, uint32_t site, uintptr_t *ret_trial);

/* Most blocks are not even asked for; *ret_trial is what the site has on trial, 0: unknown. */
static inline enum huge_wish huge_wish(size_t room, uint32_t site, uintptr_t *ret_trial)
{
	*ret_trial = 0;
	if (room < HP_HUGE_PAGE_BYTES || !atomic_load_explicit(&huge_device, memory_order_relaxed))
		return HUGE_NOT;
	return huge_ask(room, site, ret_trial);
}

/* May it?  Counts it then, since it was never copied.  Lock heap. */
bool huge_claim(size_t room, enum huge_wish wish);

/*
 * Would this block, which is free, be right?  2 MiB pages that are wanted by nobody would make a
 * sparse user large, but what is pinned is all there in any case.  Any thread, any lock.
 */
static inline bool huge_suits(const struct block *block, size_t room, enum huge_wish wish)
{
	return wish != HUGE_NOT || room < HP_HUGE_PAGE_BYTES ||
	       !atomic_load_explicit(&block->huge, memory_order_relaxed) ||
	       atomic_load_explicit(&block->pin, memory_order_relaxed) == BLOCK_PINNED;
}

/*
 * Where the 2 MiB pages of a block of new pages end, which is just being handed out for that wish.
 * Sets its probe.
 */
uintptr_t huge_end(struct block *block, enum huge_wish wish);

/* The site, which has `trial` on trial, has got this block for that wish.  Any lock. */
static inline void huge_handed_out(const struct block *block, enum huge_wish wish, uintptr_t trial,
				   uint32_t site)
{
	uintptr_t base = atomic_load_explicit(&block->base, memory_order_relaxed);

	if (wish == HUGE_TRIAL && base != trial &&
	    atomic_load_explicit(&block->huge, memory_order_relaxed))
		site_set_trial(site, base);
}

/*
 * Should the block, which is nobody's any more, give its pages back, because the next of its site
 * would get better ones?  Lock heap.
 */
bool huge_would_be_better(const struct block *block);

/*
 * The block, which the program has, is about to be copied: `bytes` of it.  Learns from the first
 * copy what its site's blocks are like, and asks for 2 MiB pages where the copy itself will be the
 * first to write to it.  No lock may be held; errno is kept.
 */
void huge_before_copy(struct block *block, bool to_device, size_t bytes);

#endif
