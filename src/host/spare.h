/*
 * A struct that stands for no block yet.
 *
 * Inside host/ only.  All of it wants the lock heap.
 */
#ifndef HP_HOST_SPARE_H
#define HP_HOST_SPARE_H

#include "host/block.h"

/* One that nobody uses; NULL: no memory for more. */
struct block *spare_take(void);

/* It starts to stand for [base, base + room), BLOCK_LEAVING, as new as can be. */
void spare_begin(struct block *block, uintptr_t base, size_t room);

/* It stands for nothing any more. */
void spare_give(struct block *block);

#endif
