/*
 * The heap's address range: divides it into blocks and free space.
 *
 * Inside src/heap only.  Every function requires the lock heap unless its comment says otherwise.
 */
#ifndef HP_HEAP_SPAN_H
#define HP_HEAP_SPAN_H

#include "heap/block.h"

#include <stddef.h>

/* Reserves the range, at the first call.  False: not possible, now or later. */
bool span_start(void);

/* True if the machine could grant so large a block at all.  After span_start(). */
bool span_could_hold(size_t bytes);

/* Returns the room that a block for `bytes` needs.  Pure. */
size_t span_room(size_t bytes);

/*
 * Returns a block of `room` (from span_room()) at a multiple of `alignment`: BLOCK_LEAVING, with
 * accessible pages that read as zero.  NULL: no room.
 */
struct block *span_take(size_t room, size_t alignment);

/* Gives back a BLOCK_LEAVING block whose pages read as zero. */
void span_give(struct block *block);

/*
 * Unmaps all free space, and from now on every block that span_give() gets: no block will be new
 * again.  Before span_start(): the start will fail.
 */
void span_close(void);

/* True after span_close().  Lock-free. */
bool span_is_closed(void);

/* Lengthens the block in place to `room`, if free addresses follow it. */
bool span_extend(struct block *block, size_t room);

/*
 * Shortens the block to `room`.  Returns the upper rest, BLOCK_LEAVING; NULL: nothing has changed.
 */
struct block *span_cut(struct block *block, size_t room);

/* As span_cut(), at the lower end: returns the first `room` bytes as a block. */
struct block *span_cut_below(struct block *block, size_t room);

/*
 * `block` takes over the addresses of its neighbor `other`, which ceases to exist.  The cost grows
 * with the size of `other`.
 */
void span_join(struct block *block, struct block *other);

/*
 * Returns the first block, free space excluded, with a byte in [*at, end), and moves *at behind
 * it. NULL: there is none.  Lock-free.
 */
struct block *span_walk(uintptr_t *at, uintptr_t end);

/* Walk all blocks in the order of their addresses, free space included; NULL at the end. */
struct block *span_first(void);
struct block *span_next(const struct block *block);

#endif
