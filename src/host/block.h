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
	BLOCK_PINNING,  /* a thread is inside cuMemHostRegister or cuMemHostUnregister for us */
	BLOCK_PINNED,   /* registered by us, whole */
	BLOCK_FOREIGN,  /* the program registered some of it itself: hands off */
	BLOCK_REFUSED,  /* the driver would not pin it: not asked again */
};

struct block {
	/* Constant while the block is in use. */
	uintptr_t base;
	size_t room; /* bytes, whole pages: all of it belongs to this block */
	bool huge;   /* asked for 2 MiB pages */

	_Atomic size_t size; /* bytes the program asked for; written by its owner only */

	/* Any thread, relaxed: what its copies did, for heat.h. */
	_Atomic uint64_t h2d_bytes, d2h_bytes; /* copied since birth */
	_Atomic uint32_t copies;
	_Atomic uint64_t excess_ns; /* what its pageable copies cost above pinned ones */

	/* Changed under the lock pin, read by anybody (acquire). */
	_Atomic int pin; /* enum block_pin */

	/* Under the lock pin. */
	uint32_t foreign;    /* registrations of the program's inside this block */
	uintptr_t pin_owner; /* the CUcontext that was current when we pinned it */

	/* Under the lock heap. */
	bool live; /* handed out; false: free, kept in the cache or to be unpinned */
	uint64_t freed_ns;
	struct block *next, *previous;
};

#endif
