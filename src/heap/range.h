/*
 * Finds the block that an address belongs to.
 */
#ifndef HP_HEAP_RANGE_H
#define HP_HEAP_RANGE_H

#include "heap/block.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the block in use that contains `address`, or NULL.  Lock-free, a few loads.  The block
 * stays valid until the program frees it, which it may not do during a call that names it.
 */
struct block *range_find(const void *address);

/* Returns the block in use that starts at `address`, or NULL.  Lock-free. */
struct block *range_starting_at(const void *address);

/* Returns the end of [address, address + bytes), at most the end of the address space. */
static inline uintptr_t range_end(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address;

	return bytes < UINTPTR_MAX - at ? at + bytes : UINTPTR_MAX;
}

/* True if [address, address + bytes) lies inside the block's room. */
bool range_covers(const struct block *block, const void *address, size_t bytes);

/*
 * Returns how many bytes from `address`, which lies in the block, belong to the same registration.
 * The block is pinned or being pinned.
 */
size_t range_run(const struct block *block, const void *address);

#endif
