/*
 * One big block of the heap: where it is, how it is used, whether it is pinned.
 */
#ifndef HP_HEAP_BLOCK_H
#define HP_HEAP_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum block_pin {
	BLOCK_PAGEABLE,        /* not registered, as far as we know */
	BLOCK_PINNING,         /* a thread is pinning or unpinning it */
	BLOCK_PINNED,          /* registered by us, all of it */
	BLOCK_USER_REGISTERED, /* pages are registered by the program, or since an unpin failed */
	BLOCK_REFUSED,         /* the driver refused to pin it; it is not asked again */
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
	 * The program has changed the block's mapping: the block is never pinned or handed out
	 * again.  Set under the locks pin and heap, read by any thread.
	 */
	_Atomic bool altered;

	/*
	 * calloc() is dropping pages of the block, which must not be pinned.  Written by its owner.
	 */
	_Atomic bool clearing;

	/*
	 * Number of copies in flight that the driver stages itself because the block is pageable:
	 * it must not be pinned before they have returned.  Any thread.
	 */
	_Atomic uint32_t driver_reads;

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

	/* Changed under the locks pin and heap, read by any thread (acquire). */
	_Atomic uint32_t pin; /* enum block_pin; pin_change_begin() waits for it */

	/* Under the lock pin. */
	uint32_t user_registrations; /* registrations by the program that touch the block */
	uintptr_t pin_owner;         /* the CUcontext that was current when we pinned the block */

	/*
	 * Read by any thread (acquire), changed under the lock heap.  malloc() and free() make
	 * three changes without it: BLOCK_LIVE to BLOCK_LEAVING, and between BLOCK_LIVE and
	 * BLOCK_PARKED.
	 */
	_Atomic int state; /* enum block_state */

	/* Under the lock heap. */
	uint64_t freed_ns;
	struct block *next, *previous; /* the list of its state */
	struct block *older, *newer;   /* the LRU list of BLOCK_CACHED, by freed_ns */
};

#endif
