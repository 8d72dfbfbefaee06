/*
 * One big block of the heap: where it is, how it is used, whether it is pinned.
 */
#ifndef HP_HEAP_BLOCK_H
#define HP_HEAP_BLOCK_H

#include "heap/word.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the word of a block says about its pages. */
enum block_pin {
	BLOCK_PAGEABLE,        /* not registered, as far as we know */
	BLOCK_CHANGING,        /* a thread has taken the word, or is the next to take it */
	BLOCK_PINNED,          /* registered by us, all of it */
	BLOCK_USER_REGISTERED, /* pages are registered by the program, or since an unpin failed */
	BLOCK_ALTERED,         /* the program has changed the pages, or the driver refuses them */
};

enum block_state {
	BLOCK_UNUSED,  /* this descriptor stands for no memory */
	BLOCK_SPACE,   /* free address space: pages that were never touched, or that went back */
	BLOCK_GONE,    /* addresses that went back to the kernel; others may have them now */
	BLOCK_LIVE,    /* in use by the program */
	BLOCK_PARKED,  /* free; waits in a slot (slots.h), where any thread may take it */
	BLOCK_CACHED,  /* free; its pages wait in the free cache */
	BLOCK_HELD,    /* free, but registered by the program: not reused, and its pages stay */
	BLOCK_LEAVING, /* free; one thread unpins it or gives its pages back */
};

/* A descriptor is never freed to another type, so a late reader still reads a block. */
struct block {
	/*
	 * Constant while the block is in use; heap_resize() changes the room.  Atomic because a
	 * program may ask about an address while it frees it.
	 */
	_Atomic uintptr_t base;
	_Atomic size_t room; /* bytes, whole pages: all of it belongs to this block */
	_Atomic bool huge;   /* 2 MiB pages were asked for */
	_Atomic uintptr_t
		probe;   /* from here on pages are of 4 KiB, and show what was touched; 0: none */
	bool moved;      /* heap_move() brought its pages here; set under the lock heap */
	bool lengthened; /* since malloc() returned it; under the lock heap */

	/*
	 * calloc() found the block sparse, and does not sample it for so many turns.  Written by
	 * its owner.
	 */
	uint8_t turns_sparse;

	_Atomic uintptr_t start; /* base plus an offset (coloring.h): the program's address */
	_Atomic size_t size;     /* bytes the program asked for; written by its owner only */
	_Atomic uint32_t site;   /* the allocation site (site.h); constant while in use */

	/* The slot in which the block is parked when it is freed (slots.h). */
	_Atomic bool has_slot; /* changed under the lock heap, read by any thread */
	unsigned home; /* shard of the thread that allocated it last; written by its owner */
	_Atomic uint32_t turns;     /* how often it was taken and parked; written by its owner */
	_Atomic uint64_t parked_ns; /* when it was parked, if it was pinned then; else 0 */

	/* Any thread, relaxed.  Both outlive free(), as the pages do. */
	_Atomic uint64_t copied_bytes; /* counted by the pin rule (pin/cost.h) */
	_Atomic uint64_t copied_ns; /* when it was copied last, by hp_now_coarse_ns(); 0: never */

	hp_word word; /* any thread; survives the block, because a thread may still look at it */

	/* The CUcontext that was current when we pinned the block.  Written by the taker. */
	_Atomic uintptr_t pin_owner;

	uint32_t user_registrations; /* by the program in this block; under the lock pin */

	/*
	 * Read by any thread (acquire), changed under the lock heap.  malloc() and free() make
	 * three changes without it: BLOCK_LIVE to BLOCK_LEAVING, and between BLOCK_LIVE and
	 * BLOCK_PARKED.
	 */
	_Atomic int state; /* enum block_state */

	/* Under the lock heap. */
	uint64_t freed_ns;
	bool kept_pinned;              /* the LRU list of the block is that of pinned ones */
	struct block *next, *previous; /* the list of its state */
	struct block *older, *newer;   /* the LRU list of BLOCK_CACHED, by freed_ns */
};

static inline enum block_pin block_pin(const struct block *block)
{
	uint32_t word = atomic_load_explicit(&block->word, memory_order_acquire);

	if (word & (WORD_TAKEN | WORD_MARKED))
		return BLOCK_CHANGING;
	if (word & WORD_FOREIGN)
		return word & WORD_REGISTERED ? BLOCK_USER_REGISTERED : BLOCK_ALTERED;
	return word & WORD_PINNED ? BLOCK_PINNED : BLOCK_PAGEABLE;
}

/* True if the block is neither pinned nor handed out again, until its pages are new. */
static inline bool block_is_altered(const struct block *block)
{
	return (atomic_load_explicit(&block->word, memory_order_acquire) & WORD_ALTERED) != 0;
}

#endif
