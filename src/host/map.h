/*
 * Which block was an address of the heap's range dealt to?
 *
 * Inside host/ only.
 */
#ifndef HP_HOST_MAP_H
#define HP_HOST_MAP_H

#include "host/block.h"

#include <stdbool.h>

/* What addresses are dealt in: with a coarser one small blocks would waste more than an eighth. */
#define MAP_UNIT ((size_t)16 << 10)

/* A map of `bytes` of addresses from `base` on, both multiples of 2 MiB.  False: no memory. */
bool map_start(uintptr_t base, size_t bytes);

/* The map, and with it the heap's range, ends after `bytes` from now on.  Lock heap. */
void map_cut(size_t bytes);

/* [from, to), whole units, are the block's; NULL: nobody's.  Lock heap. */
void map_set(uintptr_t from, uintptr_t to, struct block *block);

/* What map_set() said of the address; NULL outside the range.  Lock-free. */
struct block *map_at(uintptr_t address);

#endif
