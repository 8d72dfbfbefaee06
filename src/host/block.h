/*
 * One big block of the heap: where it is, how it is used, whether it is pinned.
 */
#ifndef HP_HOST_BLOCK_H
#define HP_HOST_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum block_pin {
	BLOCK_PAGEABLE, /* not registered by anybody that we know of */
	BLOCK_PINNING,  /* pinned or not: a thread is just changing it */
	BLOCK_PINNED,   /* registered by us: all of it */
	BLOCK_FOREIGN,  /* the program registered some of it itself: hands off */
	BLOCK_REFUSED,  /* the driver would not pin it: not asked again */
};

enum block_state {
	BLOCK_UNUSED,  /* this struct stands for no memory at all */
	BLOCK_SPACE,   /* free address space: pages that nobody touched, or that went back */
	BLOCK_GONE,    /* addresses given back to the kernel, which may be anybody's now */
	BLOCK_LIVE,    /* handed out */
	BLOCK_PARKED,  /* free; waits in a quick slot (quick.h), where any thread may take it */
	BLOCK_KEPT,    /* free; its pages wait in the cache for the next allocation */
	BLOCK_HELD,    /* free, but registered by the program: its pages stay, nobody gets it */
	BLOCK_LEAVING, /* free; one thread unpins it or gives its pages back */
};

/* Never freed to another type, so that a reader who comes too late reads a block all the same. */
struct block {
	/*
	 * Constant while the block is in use, the room but for heap_resize().  Atomic because a
	 * program may ask about an address that it is just freeing.
	 */
	_Atomic uintptr_t base;
	_Atomic size_t room;     /* bytes, whole pages: all of it belongs to this block */
	_Atomic bool huge;       /* asked for 2 MiB pages */
	_Atomic uintptr_t probe; /* from here on its pages are of 4 KiB and may tell; 0: none */
	bool moved; /* its pages come from another block, heap_move(); set under the lock heap */
	bool lengthened; /* since malloc() dealt it out; under the lock heap */

	/*
	 * The program has changed its mapping: never pinned or handed out again.  Set under the
	 * locks pin and heap, read by anybody.
	 */
	_Atomic bool altered;

	/* calloc() takes pages from it: not to be pinned meanwhile.  Written by its owner. */
	_Atomic bool clearing;

	/*
	 * Copies that the driver takes in and comes back from at once, as long as the block is
	 * pageable: not to be pinned meanwhile.  Any thread.
	 */
	_Atomic uint32_t taken_in;

	/* Found hardly touched by calloc(), which asks no more for so often.  Its owner's. */
	uint8_t turns_sparse;

	_Atomic uintptr_t start; /* what the program has: base and an offset, see stagger.h */
	_Atomic size_t size;     /* bytes the program asked for; written by its owner only */
	_Atomic uint32_t site;   /* who asked for it (site.h); constant while it is in use */

	/* Where it is parked when it is freed, see quick.h. */
	_Atomic bool quick;     /* has a slot; changed under the lock heap, read by anybody */
	unsigned home;          /* whose threads asked for it last: written by its owner only */
	_Atomic uint32_t turns; /* how often it came and went since; written by its owner only */
	_Atomic uint64_t parked_ns; /* when it was parked, if pinned then; else 0 */

	/*
	 * Any thread, relaxed: the account of these pages, season.h.  It outlives free(), as the
	 * pages do.
	 */
	_Atomic uint64_t excess_ns; /* what the pageable copies cost above pinned ones */
	_Atomic uint64_t drawn_ns;  /* what banks have put up for it */
	_Atomic uint64_t owed_ns;   /* pinned early: what its copies have yet to bring in */
	_Atomic uint64_t copied_ns; /* when it was copied last, by keep_now(); 0: never */

	/* Changed under the locks pin and heap, read by anybody (acquire). */
	_Atomic uint32_t pin; /* enum block_pin; pin_settle() waits for it */

	/*
	 * Bytes of each of our registrations of it, the last may have fewer; its room where there
	 * is but one.  Written by whoever makes it BLOCK_PINNING, before that and again as long as
	 * no registration has been made; means nothing while the block is BLOCK_PAGEABLE.
	 */
	_Atomic size_t piece;

	/* Under the lock pin. */
	uint32_t foreign;    /* registrations of the program's inside this block */
	uintptr_t pin_owner; /* the CUcontext that was current when we pinned it */

	/*
	 * Read by anybody (acquire), changed under the lock heap but for three ways out of and into
	 * use that every malloc() and free() goes: BLOCK_LIVE to BLOCK_LEAVING, by whoever frees
	 * it, and between BLOCK_LIVE and BLOCK_PARKED.
	 */
	_Atomic int state; /* enum block_state */

	/* Under the lock heap. */
	uint64_t freed_ns;
	struct block *next, *previous; /* the list that its state calls for */
	struct block *older, *newer;   /* of BLOCK_KEPT, by freed_ns */
};

#endif
