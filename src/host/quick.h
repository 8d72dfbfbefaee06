/*
 * Freed blocks that the next malloc() of their size gets without a lock.
 *
 * Inside host/ only.  Threads share a few shards of slots.  A slot belongs to one block, whether
 * that is in use or parked: free() and malloc() change its state, by one atomic operation each, and
 * nothing else.  Which block has which slot changes under the lock heap, which everything here
 * wants but quick_shard(), quick_take() and quick_park().
 */
#ifndef HP_HOST_QUICK_H
#define HP_HOST_QUICK_H

#include "host/need.h"

/* The shard of this thread. */
unsigned quick_shard(void);

/*
 * A parked block of this thread's shard, now BLOCK_LIVE, or NULL.  What it was has been looked at
 * before it was ours: the caller asks quick_suits() again.
 */
struct block *quick_take(const struct need *need);

/* May the block, which is the caller's, serve this need as it is? */
bool quick_suits(const struct block *block, const struct need *need);

/* Frees a block in use that has a slot.  False: it has none, or is not in use any more. */
bool quick_park(struct block *block);

/*
 * A slot for a block that is BLOCK_LEAVING, if its shard has one free or one that was idle for
 * long; what had that is left in *ret_evicted as by quick_drain().  The block is parked then.
 */
bool quick_adopt(struct block *block, uint64_t now, struct block **ret_evicted);

/* The block has a slot no more. */
void quick_leave(struct block *block);

/* As quick_take(), from any shard; BLOCK_LEAVING and without a slot. */
struct block *quick_steal(const struct need *need);

enum quick_which {
	QUICK_IDLE,   /* what was not used since `before`; UINT64_MAX: all */
	QUICK_PINNED, /* the same, of what is parked and pinned */
	QUICK_IN_USE, /* what is not parked */
	QUICK_MINE,   /* all of this thread's shard */
};

/*
 * Takes slots away.  What was parked in them is returned, BLOCK_LEAVING, a list by `next`, dated
 * when it was parked as far as that is known.
 */
struct block *quick_drain(enum quick_which which, uint64_t before, uint64_t now);

/* Bytes of all blocks that have a slot, here or in this thread's shard: more is never parked. */
size_t quick_bytes(void);
size_t quick_mine(void);

/*
 * When the longest idle block, or the one of those that are pinned, was parked, as far as that is
 * known; UINT64_MAX: none is.
 */
uint64_t quick_oldest(bool pinned);

/* Adds what was served from slots to the counters. */
void quick_count(void);

/* Debug walk.  Returns 0 or the line that failed. */
int quick_check(void);

#endif
