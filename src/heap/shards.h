/*
 * Shards: freed blocks that the next malloc() of their class gets without the lock heap.
 *
 * Inside src/heap only.  Each thread has one of a few shards, and takes the next one while another
 * thread is inside its own.  No thread waits for a shard: who finds all of them taken uses the lock
 * heap.  Pinned blocks are not parked.
 */
#ifndef HP_HEAP_SHARDS_H
#define HP_HEAP_SHARDS_H

#include "heap/cache.h"

#include <stdbool.h>

/* Takes a parked block for the request: BLOCK_LIVE.  NULL: there is none.  No lock is needed. */
struct block *shards_take(const struct request *request);

/* Parks a block in use.  False: it cannot be parked, or no shard may hold that much. */
bool shards_put(struct block *block);

/* The functions below require the lock heap, and pass by a shard that a thread is inside. */

/*
 * Parks a BLOCK_LEAVING block, and lets this thread's shard hold more if the cache has room for it.
 * A full shard leaves its blocks to the cache.
 */
bool shards_put_more(struct block *block, uint64_t now);

/* Takes a parked block of any shard: BLOCK_LEAVING.  NULL: none suits. */
struct block *shards_steal(const struct request *request);

/*
 * Leaves all parked blocks to the cache, as freed at `now`.  Adds the counts of the shards to
 * base/counters.h.  True if any shard was used since the last call.
 */
bool shards_drain(uint64_t now);

/* Returns the bytes that the shards may hold. */
size_t shards_allowed(void);

/* In the child of fork(): empties the shards, whose blocks the caller finds by their state. */
void shards_after_fork_child(void);

#endif
