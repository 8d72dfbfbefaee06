/*
 * The free cache: freed blocks that keep their pages, by class and by age; and the one way by which
 * pages go back.
 *
 * The functions cache_*() are for src/heap, and require the lock heap unless a comment
 * says otherwise.  The functions heap_*() are for other rooms, too, and take it.
 */
#ifndef HP_HEAP_CACHE_H
#define HP_HEAP_CACHE_H

#include "heap/huge_pages.h"
#include "heap/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The needs of one allocation. */
struct request {
	size_t bytes;        /* as the program asked */
	size_t alignment;    /* of its address: a power of two */
	unsigned size_class; /* map.h */
	bool huge;           /* 2 MiB pages are wanted */
	uint32_t site;       /* allocation site (site.h) */
};

/* The time for which a freed block waits for the next allocation of its class. */
#define CACHE_NS ((uint64_t)1000000000)

/* The bound of cache_unpinned().  Written by reclaim.c, under the lock heap. */
extern struct cache_bound cache_bound;

/* Return the unpinned cached bytes, with what shards may hold, and those that may be added. */
size_t cache_unpinned(void);
size_t cache_room(void);

/* True if freed blocks that are still pinned exceed the bound. */
bool cache_is_pinned_over(void);

/*
 * True if the free block, of the request's class, serves the request; with the same start and room
 * (needs no lock).
 */
bool cache_suits(const struct block *block, const struct request *request);
bool cache_suits_as_it_is(const struct block *block, const struct request *request);

/* True if the block, with so much `room`, serves the request without another start. */
static inline bool cache_start_suits(const struct block *block, size_t room,
				     const struct request *request)
{
	return (block->start & (request->alignment - 1)) == 0 &&
	       block->start - block->base + request->bytes <= room;
}

/* Caches a block that was held, parked or leaving; holds one that the program has registered. */
void cache_put(struct block *block, uint64_t freed_ns);

/* Return a block, BLOCK_LEAVING, or NULL: one with pages, or a new one. */
struct block *cache_take(const struct request *request);
struct block *cache_take_new(unsigned size_class);

/*
 * Takes unpinned blocks that are old, or exceed the bound or `most`, the oldest first:
 * BLOCK_LEAVING, a list by `next` for cache_purge().
 */
struct block *cache_take_old(size_t most, uint64_t now);

/*
 * Unlocks the heap, and gives the pages of a list of unpinned BLOCK_LEAVING blocks back to the
 * kernel.  Blocks whose pages the kernel keeps are cached.  Returns the bytes that went.  No other
 * lock may be held.
 */
size_t cache_purge(struct block *list);

/* Unmaps the unused end of a block in use, after map_close(). */
void cache_cut(struct block *block);

/* Unmaps all free blocks without pages, and the unused ends of those in use, after map_close(). */
void cache_close(void);

/* Called after the word of a block that is not in use has changed. */
void cache_note_pin(struct block *block);

/* True if a freed block that we have pinned is due to be unpinned: pin_evict_due() has work. */
bool heap_any_due(void);

/*
 * Takes the pinned block that was freed first, if it is due, for this caller alone: BLOCK_LEAVING.
 * NULL: none is.
 */
struct block *heap_take_due(void);

/* Makes `bytes` of pinned blocks due at once, because others could use that part of the budget. */
void heap_set_reclaim_target(size_t bytes);

/*
 * The rest is for src/pin only.  Words change under the lock heap if the block must be in use, or
 * if the lists of freed blocks depend on its pin.  The lock pin may be held.
 */

/*
 * Takes the word of a block in use to pin it.  Returns the room of the block.  0: the word is not
 * free for that (word_try_pin()), or freed blocks that are still pinned exceed the bound of the
 * cache.
 */
size_t heap_try_pin(struct block *block);

/*
 * As word_look(), for a block that may have been freed since it was queued.  *ret_room is the
 * room to pin, or 0 if the caller must give the word back.
 */
enum word_look heap_take_queued(struct block *block, size_t *ret_room);

/* word_alter().  False: the block is not in use. */
bool heap_alter(struct block *block, uint32_t bit, bool *ret_taken);

/* word_release(). */
bool heap_release(struct block *block, bool is_pinned, uint32_t *ret_saw);

/* word_keep(). */
void heap_keep(struct block *block);

/*
 * Takes back a block of heap_take_due(), and gives its pages back unless it is still pinned.  No
 * lock may be held.
 */
void heap_return(struct block *block);

/*
 * Called when the last registration by the program in the block has ended: the block may be used
 * again if it was freed meanwhile.
 */
void heap_unhold(struct block *block);

#endif
