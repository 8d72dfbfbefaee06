/*
 * Which block does an address belong to?
 */
#ifndef HP_HOST_RANGE_H
#define HP_HOST_RANGE_H

#include "host/block.h"

#include <stddef.h>
#include <stdint.h>

/*
 * The block in use that contains `address`, or NULL: not the heap's, or free.  Lock-free, a few
 * loads.  The block stays valid as long as the program does not free it, which it may not do
 * while it names it in a call.
 */
struct block *range_find(const void *address);

/* Where [address, address + bytes) ends; what would wrap ends with the address space. */
static inline uintptr_t range_end(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address;

	return bytes < UINTPTR_MAX - at ? at + bytes : UINTPTR_MAX;
}

/* Does [address, address + bytes) lie wholly inside `block`'s room? */
bool range_covers(const struct block *block, const void *address, size_t bytes);

/*
 * How many bytes from `address`, which lies in `block`, belong to the same registration of ours.
 * The block is pinned or being pinned.
 */
size_t range_run(const struct block *block, const void *address);

#endif
