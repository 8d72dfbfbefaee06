/*
 * Between keep.c, which has kept blocks by size, and lapse.c, which has them by age.
 *
 * For these two only.  All of it wants the lock heap.
 */
#ifndef HP_HOST_KEPT_H
#define HP_HOST_KEPT_H

#include "host/block.h"

/* keep.c: out of all lists, BLOCK_LEAVING. */
void kept_detach(struct block *block);

/* keep.c: of a kept block no more than about `bytes`, its upper end; the rest stays. */
struct block *kept_take_upper(struct block *block, size_t bytes);

/* lapse.c: the block is kept from now on, since its freed_ns; and no more. */
void lapse_add(struct block *block);
void lapse_remove(struct block *block);

/* Debug walk, of *ret_count blocks.  Returns 0 or the line that failed. */
int lapse_check(size_t *ret_count);

#endif
