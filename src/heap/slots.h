/*
 * The slot cache: freed blocks that the next malloc() of their size gets without a lock.
 *
 * Inside src/heap only.  Threads share a few shards of slots.  A slot belongs to one block, in use
 * or parked; free() and malloc() change the state of that block by one atomic operation each.  The
 * assignment of slots changes under the lock heap.  Every function requires that lock, except
 * slots_shard(), slots_take() and slots_park().
 */
#ifndef HP_HEAP_SLOTS_H
#define HP_HEAP_SLOTS_H

#include "heap/request.h"

/* Returns the number of this thread's shard. */
unsigned slots_shard(void);

/*
 * Takes a parked block of this thread's shard, now BLOCK_LIVE, or NULL.  The block may have
 * changed between the look and the take, so the caller asks slots_suits() again.
 */
struct block *slots_take(const struct request *request);

/* True if the block, which the caller owns, serves the request as it is. */
bool slots_suits(const struct block *block, const struct request *request);

/* Frees a block in use that has a slot.  False: it has none, or is no longer in use. */
bool slots_park(struct block *block);

/*
 * Gives a BLOCK_LEAVING block a slot and parks it, if its shard has a free or long idle slot.  A
 * parked block that loses its slot is left in *ret_evicted, as by slots_drain().
 */
bool slots_adopt(struct block *block, uint64_t now, struct block **ret_evicted);

/* Takes the slot, if there is one, of a block that the caller owns. */
void slots_leave(struct block *block);

/* Takes a parked block of any shard, or NULL: BLOCK_LEAVING and without a slot. */
struct block *slots_steal(const struct request *request);

enum slots_which {
	SLOTS_IDLE,   /* unused since `before`; UINT64_MAX: all */
	SLOTS_PINNED, /* unused since `before`, parked and pinned */
	SLOTS_IN_USE, /* not parked */
	SLOTS_MINE,   /* all slots of this thread's shard */
};

/*
 * Takes slots away.  Returns the blocks that were parked in them: BLOCK_LEAVING, a list by `next`,
 * with the time of parking if it is known.
 */
struct block *slots_drain(enum slots_which which, uint64_t before, uint64_t now);

/* Return the bytes of all blocks that have a slot, in all shards or in this thread's. */
size_t slots_bytes(void);
size_t slots_mine(void);

/*
 * Returns when the block that is parked for longest, or the pinned one, was parked, as far as
 * known; UINT64_MAX: none is.
 */
uint64_t slots_oldest(bool pinned);

/* Adds the allocations served from slots to the counters. */
void slots_count(void);

#endif
