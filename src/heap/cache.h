/*
 * The free cache: freed blocks that keep their pages for the next allocation.
 *
 * Inside src/heap only.  Everything here requires the lock heap.
 */
#ifndef HP_HEAP_CACHE_H
#define HP_HEAP_CACHE_H

#include "heap/request.h"

/* Caches a block that was held or leaving.  It may be joined with a neighbor and cease to exist. */
void cache_put(struct block *block, uint64_t now);

/* Caches a list of blocks, linked by `next`; each has its freed_ns. */
void cache_put_all(struct block *list);

/* Returns a block for the request, BLOCK_LEAVING, or NULL.  Unpinned blocks are cut to size. */
struct block *cache_take(const struct request *request);

/*
 * Returns a cached block that is lengthened into the free addresses above it, or NULL.  The pages
 * after the first *ret_used bytes are new.
 */
struct block *cache_take_longer(const struct request *request, size_t *ret_used);

/*
 * Lengthens an unpinned block in use to `room` or a little more, if the addresses above it are
 * cached or free.  From *ret_fresh on the pages are new.  False: too few are.
 */
bool cache_extend(struct block *block, size_t room, uintptr_t *ret_fresh);

/*
 * Takes unpinned blocks, or parts of them, that have expired or exceed the bound: BLOCK_LEAVING, a
 * list by `next`, of about `bytes_most` bytes.
 */
struct block *cache_take_expired(uint64_t now, size_t bytes_most);

/* Takes the pinned block that was freed first, if it is due: BLOCK_LEAVING.  NULL: none is. */
struct block *cache_take_due(uint64_t now);

#endif
