/*
 * The descriptor pool: structs that do not stand for a block yet.
 *
 * Inside src/heap only.  Every function requires the lock heap.
 */
#ifndef HP_HEAP_DESCRIPTOR_H
#define HP_HEAP_DESCRIPTOR_H

#include "heap/block.h"

/* Returns an unused descriptor; NULL: no memory for more. */
struct block *descriptor_take(void);

/* The descriptor stands for [base, base + room) from now on: BLOCK_LEAVING, with new pages. */
void descriptor_begin(struct block *block, uintptr_t base, size_t room);

/* The descriptor stands for nothing from now on. */
void descriptor_give(struct block *block);

#endif
