/*
 * The map from addresses of the heap's range to blocks.
 *
 * The functions map_*() are for src/heap, the rest is for all rooms.
 */
#ifndef HP_HEAP_MAP_H
#define HP_HEAP_MAP_H

#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unit of allocation.  A coarser one would waste more than an eighth of small blocks. */
#define MAP_UNIT        ((size_t)16 << 10)

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

/* Returns the end of [address, address + bytes), at most the end of the address space. */
static inline uintptr_t range_end(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address;

	return bytes < UINTPTR_MAX - at ? at + bytes : UINTPTR_MAX;
}

/* True if [address, address + bytes) lies inside the block's room. */
bool range_covers(const struct block *block, const void *address, size_t bytes);

/*
 * Creates a map of `bytes` of addresses from `base` on, both multiples of 2 MiB.  False: no
 * memory.
 */
bool map_start(uintptr_t base, size_t bytes);

/* Shortens the map and the range of the heap to `bytes`.  Requires the lock heap. */
void map_cut(size_t bytes);

/* Maps [from, to), whole units, to the block; NULL: to none.  Requires the lock heap. */
void map_set(uintptr_t from, uintptr_t to, struct block *block);

/* Returns the block of the address; NULL: none, or outside the range.  Lock-free. */
struct block *map_at(uintptr_t address);

#endif
