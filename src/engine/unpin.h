/*
 * Pins of ours that an operation of the program's does not allow.
 */
#ifndef HP_ENGINE_UNPIN_H
#define HP_ENGINE_UNPIN_H

#include "base/protections.h"
#include "heap/map.h"
#include "real/real.h"

#include <stdbool.h>

/* Unpins what we pinned of [address, address + bytes); it may be pinned again later. */
void unpin_range(const void *address, size_t bytes);

/* The slow halves of unpin_refuse(): unpins, and keeps unpinned until the second. */
bool unpin_hold(CUdeviceptr address);
void unpin_release(CUdeviceptr address);

/*
 * `address` is about to be named as a device's memory.  A pinned block would pass for that, where
 * the driver refuses pageable memory: so it is unpinned.  One compare for all other addresses.
 * True: nobody pins the block before unpin_release(), which must follow.
 */
static inline bool unpin_refuse(CUdeviceptr address)
{
	return __builtin_expect(heap_owns((const void *)address), 0) &&
	       hp_keeps(no_device_memory) && unpin_hold(address);
}

#endif
