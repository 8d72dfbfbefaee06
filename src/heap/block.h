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
	BLOCK_USER_REGISTERED, /* the program has registered pages of it */
	BLOCK_ALTERED,         /* the program has changed the pages, or the driver refuses them */
};

enum block_state {
	/*
	 * Addresses of a class: pages that were never touched, or that went back.  In a closed heap
	 * the addresses went back, too, and others may have them now.
	 */
	BLOCK_EMPTY,
	BLOCK_LIVE,    /* in use by the program */
	BLOCK_PARKED,  /* free; waits in a shard (shards.h) */
	BLOCK_CACHED,  /* free; its pages wait in the free cache */
	BLOCK_HELD,    /* free, but registered by the program: not reused, and its pages stay */
	BLOCK_LEAVING, /* one thread allocates it, frees it, unpins it or gives its pages back */
};

/* A descriptor stands for the same addresses for ever, so a late reader still reads a block. */
struct block {
	/* Constant. */
	uintptr_t base;
	unsigned size_class;

	/*
	 * The bytes that a pin covers, whole pages: at least the program's.  Changed under the lock
	 * heap, of blocks that are not pinned.
	 */
	_Atomic size_t room;
	_Atomic size_t touched; /* the pages above may not be in memory; written by its owner */
	_Atomic bool huge;      /* 2 MiB pages were asked for */

	_Atomic uintptr_t start; /* the program's address: base plus an offset (heap.c) */
	_Atomic size_t size;     /* bytes the program asked for; written by its owner only */
	_Atomic uint32_t site;   /* the allocation site (site.h); constant while in use */

	/* Any thread, relaxed.  Both outlive free(), as the pages do. */
	_Atomic uint64_t copied_bytes; /* counted by the pin rule (pin/cost.h) */
	_Atomic uint64_t copied_ns; /* when it was copied last, by hp_now_coarse_ns(); 0: never */

	hp_word word; /* any thread; survives the block, because a thread may still look at it */

	/* The CUcontext that was current when we pinned the block.  Written by the taker. */
	_Atomic uintptr_t pin_owner;

	uint32_t user_registrations; /* by the program in this block; under the lock pin */

	/*
	 * Read by any thread (acquire), changed under the lock heap; between BLOCK_LIVE and
	 * BLOCK_PARKED by the thread that is inside a shard.
	 */
	_Atomic int state; /* enum block_state */

	/* Of its addresses: whole units, or what heap_close() has left of them.  As `state`. */
	_Atomic size_t bytes;

	/* Under the lock heap. */
	uint64_t freed_ns;
	bool kept_pinned;              /* its list by age is that of pinned blocks */
	struct block *next, *previous; /* the list of its class; the owner's list by `next` */
	struct block *older, *newer;   /* the list of BLOCK_CACHED by age */
};

static inline enum block_pin block_pin(const struct block *block)
{
	uint32_t word = atomic_load_explicit(&block->word, memory_order_acquire);

	if (word & (WORD_TAKEN | WORD_MARKED))
		return BLOCK_CHANGING;
	if (word & WORD_PINNED)
		return BLOCK_PINNED;
	if (word & WORD_FOREIGN)
		return word & WORD_REGISTERED ? BLOCK_USER_REGISTERED : BLOCK_ALTERED;
	return BLOCK_PAGEABLE;
}

/* True if the block is pinned by us, or a thread may be pinning it. */
static inline bool block_may_be_pinned(const struct block *block)
{
	return (atomic_load(&block->word) & (WORD_PINNED | WORD_TAKEN)) != 0;
}

/* True if the block is neither pinned nor handed out again, until its pages are new. */
static inline bool block_is_altered(const struct block *block)
{
	return (atomic_load_explicit(&block->word, memory_order_acquire) & WORD_ALTERED) != 0;
}

#endif
