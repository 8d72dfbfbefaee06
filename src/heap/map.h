/*
 * The heap's address range: which addresses are blocks, and where new ones come from.
 *
 * The functions map_*() are for src/heap, the rest is for all rooms.
 */
#ifndef HP_HEAP_MAP_H
#define HP_HEAP_MAP_H

#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Places a variable next to the others that every malloc() and free() reads. */
#define HEAP_OFTEN_READ __attribute__((section("hp_often_read")))

/*
 * The address range of all blocks; empty until the first allocation.  Hidden, so that access needs
 * no indirection.
 */
extern _Atomic uintptr_t heap_base __attribute__((visibility("hidden")));
extern _Atomic uintptr_t heap_bytes __attribute__((visibility("hidden")));

/* True if `address` lies in the heap's range.  One compare, which every free() pays for. */
static inline bool heap_owns(const void *address)
{
	return (uintptr_t)address - atomic_load_explicit(&heap_base, memory_order_relaxed) <
	       atomic_load_explicit(&heap_bytes, memory_order_relaxed);
}

/*
 * True if a byte of [address, address + bytes) lies in the heap's range.  One compare, two loads.
 */
static inline bool heap_touches(const void *address, size_t bytes)
{
	uintptr_t base = atomic_load_explicit(&heap_base, memory_order_relaxed);
	size_t room = atomic_load_explicit(&heap_bytes, memory_order_relaxed);

	return (uintptr_t)address + bytes - base - 1 < room + bytes - 1;
}

/*
 * Returns the block in use that contains `address`, or NULL.  Lock-free, a few loads.  The block
 * stays valid until the program frees it, which it may not do during a call that names it.
 */
struct block *range_find(const void *address);

/* Returns the block in use that starts at `address`, or NULL.  Lock-free. */
struct block *range_starting_at(const void *address);

/* True if [address, address + bytes) lies inside the block's room. */
bool range_covers(const struct block *block, const void *address, size_t bytes);

/*
 * Returns the next block behind `after`, or the first one if that is NULL, with a byte in [address,
 * address + bytes): in use, or free with pages.  NULL: there is none.  Lock-free.
 */
struct block *range_next(const struct block *after, const void *address, size_t bytes);

#define MAP_CLASSES 256

/* Return the smallest class of blocks that hold `bytes`, and the bytes of a class.  Pure. */
unsigned map_class(size_t bytes);
size_t map_class_bytes(unsigned size_class);

/* Returns the alignment of all blocks of the class.  Pure. */
size_t map_alignment(unsigned size_class);

/*
 * Reserves the range, at the first call.  False: not possible, now or later, or the heap is closed.
 * Requires the lock heap.
 */
bool map_start(void);

/* True if the machine could grant so large a block at all.  After map_start(). */
bool map_could_hold(size_t bytes);

/* True while half of the addresses of large blocks were never used.  After map_start(). */
bool map_is_roomy(void);

/*
 * Creates a block: BLOCK_LEAVING, with pages that read as zero.  NULL: no addresses are left.
 * Requires the lock heap, which is not closed.
 */
struct block *map_create(unsigned size_class);

/*
 * Unmaps all addresses that no block has, for good.  Before map_start(): the start will fail. Once.
 * Requires the lock heap.
 */
void map_close(void);

/* True after map_close().  Lock-free. */
bool map_is_closed(void);

/* Returns the block of the address, in use or not; NULL: none.  Lock-free. */
struct block *map_at(uintptr_t address);

/* As range_next() of all addresses, but blocks in any state. */
struct block *map_next(const struct block *after);

#endif
