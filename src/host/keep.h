/*
 * Which freed blocks keep their pages, and for how long?
 *
 * Inside host/ only.  But for keep_now(), keep_note_parked() and keep_due_at everything here wants
 * the lock heap.
 */
#ifndef HP_HOST_KEEP_H
#define HP_HOST_KEEP_H

#include "host/need.h"

/* How long a freed block waits for the next allocation of its size. */
#define KEEP_NS      ((uint64_t)1000000000)

/* The same where nobody saw when it was freed, but only that it has been free for so long. */
#define KEEP_SEEN_NS (KEEP_NS / 2)

/* So much of what nothing pins never gets too old. */
#define KEEP_FLOOR   ((size_t)32 << 20)

/* Nanoseconds by the cheap clock, which ticks every few milliseconds. */
uint64_t keep_now(void);

/* The bound of what is kept without a pin, blocks with a slot (quick.h) included. */
void keep_set_bound(size_t total);
size_t keep_bound(void);

/* Memory is scarce: freed blocks are too old at once, and no floor holds. */
void keep_set_hasty(bool hasty);

/* Bytes that may be kept without a pin above what is, and that are above what may be. */
size_t keep_spare(void);
size_t keep_over(void);

/* Is more kept without a pin than may stay for ever? */
bool keep_is_above_floor(void);

/* Keeps a block that was held or leaving; it may cease to exist by itself. */
void keep_put(struct block *block, uint64_t now);

/* The same for a list by `next`, each with the date it has. */
void keep_put_all(struct block *list);

/*
 * A block for this need, BLOCK_LEAVING, or NULL.  Blocks that nothing pins are cut to measure.
 */
struct block *keep_take(const struct need *need);

/*
 * The same, by lengthening a block into the free addresses behind it: what follows the first
 * *ret_used bytes is new.
 */
struct block *keep_take_longer(const struct need *need, size_t *ret_used);

/*
 * Lengthens a block in use, which nothing pins, to `room` or a little more, if what follows it is
 * kept or free; from *ret_fresh on its pages are new.  False: it is not, or not by so much.
 */
bool keep_extend(struct block *block, size_t room, uintptr_t *ret_fresh);

/*
 * Blocks, or parts of them, whose time is over or that are too many, and that no pin holds:
 * BLOCK_LEAVING, a list by `next`, of about `bytes_most` bytes.
 */
struct block *keep_take_expired(uint64_t now, size_t bytes_most);

/* When the next block that nothing pins will be too old; UINT64_MAX: none will. */
uint64_t keep_next_expiry(uint64_t now);

/*
 * The pinned block that was freed first, if it is due: BLOCK_LEAVING.  NULL: none is; keep_due_at
 * is exact then.
 */
struct block *keep_take_due(uint64_t now);

/* When the next pinned block may be due; UINT64_MAX: there is none.  May be too early. */
extern _Atomic uint64_t keep_due_at;

/* A pinned block was parked (quick.h) just now.  No lock. */
void keep_note_parked(void);

/* Somebody could use `bytes` of the budget that freed blocks hold: so much is due at once. */
void keep_hurry(size_t bytes);

/* Changes the pin of a block in any state, sums included, and wakes pin_settle(). */
void keep_set_pin(struct block *block, enum block_pin pin);

/* Bytes kept, pinned ones included; without those that are parked. */
size_t keep_bytes(void);

/* Debug walk.  Returns 0 or the line that failed. */
int keep_check(void);

#endif
