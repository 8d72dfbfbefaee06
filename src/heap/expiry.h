/*
 * Freed blocks by age: how much of the free cache may stay, and for how long.
 *
 * Inside src/heap only.  Everything here requires the lock heap, except expiry_note_parked() and
 * expiry_due_at.
 */
#ifndef HP_HEAP_EXPIRY_H
#define HP_HEAP_EXPIRY_H

#include "heap/block.h"

/* The time for which a freed block waits for the next allocation of its size. */
#define EXPIRY_NS      ((uint64_t)1000000000)

/* The same for a block that was seen free, but not seen being freed. */
#define EXPIRY_SEEN_NS (EXPIRY_NS / 2)

/*
 * The bounds of unpinned cached blocks in bytes, blocks with a slot (slots.h) included: at any
 * time, and after EXPIRY_NS.  If `floor` is 0, freed blocks expire at once.
 */
void expiry_set_bound(size_t most, size_t floor);
size_t expiry_bound(void);
size_t expiry_floor(void);

/* Unpinned bytes in the cache and in blocks with a slot. */
size_t expiry_unpinned(void);

/* True if freed blocks that are still pinned exceed the bound. */
bool expiry_is_pinned_over(void);

/* Unpinned bytes that may be added to the cache, and those that are above its bound. */
size_t expiry_room(void);
size_t expiry_over(void);

/* Adds the block to the LRU lists at its freed_ns, or removes it. */
void expiry_add(struct block *block);
void expiry_remove(struct block *block);

/*
 * Returns the unpinned block to give back next, and how much of it; NULL: none.  At least `least`
 * bytes, and `most` if the block is old.
 */
struct block *expiry_next(uint64_t now, size_t least, size_t most, size_t *ret_bytes);

/* Returns the bytes to give back because the cache exceeds its bound, with some slack; 0: none. */
size_t expiry_excess(void);

/* Returns when to look for expired unpinned blocks next; 0: at once; UINT64_MAX: there is none. */
uint64_t expiry_at(uint64_t now);

/* Returns the pinned cached block that was freed first, if it is due, or NULL: expiry_due_at is
 * exact then. */
struct block *expiry_next_due(uint64_t now);

/* Returns the time before which a freed pinned block is due. */
uint64_t expiry_due_before(uint64_t now);

/* The time at which the next pinned block may be due, or earlier; UINT64_MAX: there is none. */
extern _Atomic uint64_t expiry_due_at;

/* Notes that a pinned block was just parked (slots.h).  Takes no lock. */
void expiry_note_parked(void);

/*
 * Sets the reclaim target: `bytes` of pinned cached blocks are due at once, because others could
 * use that part of the budget.
 */
void expiry_set_target(size_t bytes);

/* Called after the pin of a block that is not in use has changed: puts it into the list of its
 * kind. */
void expiry_note_pin(struct block *block);

/* Returns the bytes that are cached, with pinned blocks, without parked ones. */
size_t expiry_bytes(void);

#endif
