/*
 * Changes the size of blocks in use, in place or by moving their pages.
 */
#ifndef HP_HEAP_RESIZE_H
#define HP_HEAP_RESIZE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Changes the block to `bytes` in place.  False: it does not fit, or would waste half of its room.
 */
bool heap_resize(void *address, size_t bytes);

/*
 * Changes the block to `bytes` by moving its pages elsewhere without a copy, for a realloc() that
 * heap_resize() could not serve.  Returns the new address; the old one is free then.  NULL:
 * nothing has changed, and the caller allocates and copies.
 */
void *heap_move(void *address, size_t bytes);

#endif
