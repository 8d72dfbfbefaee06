/*
 * What heap.c and resize.c both ask about blocks in use.
 *
 * Inside host/ only.
 */
#ifndef HP_HOST_LIVE_H
#define HP_HOST_LIVE_H

#include "host/block.h"

/* The block in use that starts at `address`, or NULL.  Lock-free. */
struct block *live_find(const void *address);

/* Could there be so large a block at all?  The lock heap is held. */
bool live_may_be(size_t bytes);

#endif
