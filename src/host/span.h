/*
 * Which addresses of the heap's range are free, and which block holds the others?
 *
 * Inside host/ only.  Everything here wants the lock heap, where it does not say otherwise.
 */
#ifndef HP_HOST_SPAN_H
#define HP_HOST_SPAN_H

#include "host/block.h"
#include "host/map.h"

#include <stddef.h>

/* Reserves the range, the first time.  False: there is none and there will be none. */
bool span_start(void);

/* The room that a block for `bytes` needs.  Pure. */
size_t span_room(size_t bytes);

/*
 * A block of `room` (from span_room()) at a multiple of `alignment`, with pages that read as zero
 * and may be written, in the state BLOCK_LEAVING.  NULL where there is no room for it.
 */
struct block *span_take(size_t room, size_t alignment);

/* Gives back a block in the state BLOCK_LEAVING, whose pages read as zero. */
void span_give(struct block *block);

/*
 * Unmaps all free space, and from now on what span_give() gets: no block will ever be new again.
 * Before span_start(): it will fail.
 */
void span_close(void);

/* Has span_close() been called?  Lock-free. */
bool span_is_closed(void);

/* Lengthens the block where it stands to `room`, if free addresses follow it. */
bool span_extend(struct block *block, size_t room);

/* Shortens the block to `room`; what is cut off is returned, BLOCK_LEAVING, or NULL: no change. */
struct block *span_cut(struct block *block, size_t room);

/* As span_cut(), at the lower end: the block gives up its first `room` bytes. */
struct block *span_cut_below(struct block *block, size_t room);

/*
 * `block` takes over the addresses of its neighbour `other`, which ceases to exist.  Costs as
 * much as `other` is large.
 */
void span_join(struct block *block, struct block *other);

/*
 * The first block, free space not counted, that has a byte in [*at, end); *at moves behind it.
 * NULL: there is none.  Lock-free.
 */
struct block *span_walk(uintptr_t *at, uintptr_t end);

/* All blocks in the order of their addresses, free space included; NULL at the end. */
struct block *span_first(void);
struct block *span_next(const struct block *block);

/* Debug walk.  Returns 0 or the line that failed. */
int span_check(void);

#endif
