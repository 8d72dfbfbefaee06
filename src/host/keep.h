/*
 * Which freed blocks keep their pages, and for how long?
 *
 * Inside host/ only.  But for keep_now() and keep_due_at everything here wants the lock heap.
 */
#ifndef HP_HOST_KEEP_H
#define HP_HOST_KEEP_H

#include "host/block.h"

#include <stddef.h>

/* How long a freed block waits for the next allocation of its size. */
#define KEEP_NS    ((uint64_t)1000000000)

/* So much of what nothing pins never gets too old. */
#define KEEP_FLOOR ((size_t)32 << 20)

/* Nanoseconds by the cheap clock, which ticks every few milliseconds. */
uint64_t keep_now(void);

/* Bounds of what is kept without a pin: in all, and for one block. */
void keep_set_bounds(size_t total, size_t block_most);

/* Memory is scarce: freed blocks are too old at once, and no floor holds. */
void keep_set_hasty(bool hasty);

/* Is more kept without a pin than the bound? */
bool keep_is_over(void);

/* May this block be kept at all?  Pinned ones always: their pages must not go. */
bool keep_wants(const struct block *block);

/* Keeps a block that was in use, held or leaving; it may cease to exist by itself. */
void keep_put(struct block *block, uint64_t now);

/*
 * A block of `room` or a little more at a multiple of `alignment` (a power of two), BLOCK_LEAVING,
 * or NULL.  Blocks that nothing pins are cut to measure.
 */
struct block *keep_take(size_t room, size_t alignment);

/*
 * Blocks, or parts of them, whose time is over or that are too many, and that no pin holds:
 * BLOCK_LEAVING, a list by `next`, of about `bytes_most` bytes.
 */
struct block *keep_take_expired(uint64_t now, size_t bytes_most);

/* When the next block that nothing pins will be too old; UINT64_MAX: none will. */
uint64_t keep_next_expiry(void);

/*
 * The pinned block that was freed first, if it is due: BLOCK_LEAVING.  NULL: none is; keep_due_at
 * is exact then.
 */
struct block *keep_take_due(uint64_t now);

/* When the next pinned block may be due; UINT64_MAX: there is none.  May be too early. */
extern _Atomic uint64_t keep_due_at;

/* Somebody could use `bytes` of the budget that freed blocks hold: so much is due at once. */
void keep_hurry(size_t bytes);

/* Changes the pin of a block in any state, sums included. */
void keep_set_pin(struct block *block, enum block_pin pin);

/* Bytes kept, pinned ones included. */
size_t keep_bytes(void);

/* Debug walk.  Returns 0 or the line that failed. */
int keep_check(void);

#endif
