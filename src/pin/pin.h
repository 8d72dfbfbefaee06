/*
 * The pin state of blocks, and the budget of pinned memory.
 *
 * Blocks are registered and unregistered in src/pin only.  Staging memory is registered by
 * stage/memory.c, out of the same budget.  To the program a pinned block stays pageable: the shim
 * answers queries about it accordingly.
 */
#ifndef HP_PIN_PIN_H
#define HP_PIN_PIN_H

#include "base/users.h"
#include "heap/block.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Allows pinning.  `budget`: the most bytes pinned by us at once, with cached blocks and staging
 * memory.  Called once.
 */
void pin_start(uint64_t budget);

/* Returns the budget; 0 before pin_start(), or if nothing may be pinned.  Any thread. */
uint64_t pin_budget(void);

/*
 * Takes `bytes` of the budget for staging memory, which may have half of the budget in all.
 * False: the budget has no room; cached pinned blocks become due, so a later call may succeed.
 * Any thread, no lock above `pin` held; calls no driver function.
 */
bool pin_take_staging(size_t bytes);

/* Gives back `bytes` of staging memory: the registration failed, or its context has ended. */
void pin_give_staging(size_t bytes);

/*
 * Disables pinning for good: the driver refuses everything, or the device reads the host's page
 * tables.  Pinned blocks stay pinned.  `why` is for the log.  Any thread.
 */
void pin_stop(const char *why);

/*
 * The copies that may read or write a block's memory: each is inside during its driver calls.
 * Closed while a block in use is unpinned, so a copy that begins then waits.
 */
extern struct hp_users pin_copies;

/* How long such a copy waits at most. */
#define PIN_COPY_WAITS_NS 2000000000u

/*
 * Called before a stream capture begins or a graph node is made, and after its end.  Between the
 * calls nothing is pinned, and blocks are unpinned only for a call of the program.  Any thread.
 */
void pin_hold(void);
void pin_release(void);

/*
 * Bracket a driver call that would show whether memory is pinned: no block begins to be pinned
 * between them, so a block that the caller saw pageable is pageable to the driver.  Any thread;
 * one atomic operation each; disable cancellation.  For short calls only: pins of other threads
 * wait for their next copy.
 */
void pin_query_begin(void);
void pin_query_end(void);

/* True if a byte of [address, address + bytes) is pinned by us.  Lock-free, a few loads. */
bool pin_covers_any(const void *address, size_t bytes);

/*
 * True if [address, address + bytes) touches a block that we pinned and is not inside it.  The
 * driver refuses such a range if it begins in the block.
 */
bool pin_crosses(const void *address, size_t bytes);

/* Sets whether memory is short; then nothing is pinned.  Any thread. */
void pin_set_pressure(bool pressure);

/*
 * A callback that receives the duration of a pin of a block of `site`, or of the end of such a pin.
 * Set once; called with no lock held.
 */
typedef void (*pin_told_fn)(uint32_t site, bool begins, uint64_t bytes, uint64_t ns);
extern _Atomic(pin_told_fn) pin_told;

/* The functions from here to pin_forget_all() are for src/pin only. */

/*
 * Takes the block's room from the budget and makes the block BLOCK_PINNING.  False: not possible
 * now.  The caller then pins the block, and calls pin_begun(), pin_give_back() or pin_refused(). No
 * lock may be held.
 */
bool pin_reserve(struct block *block);

/* The block is not pinned after all; its count starts again at 0.  No lock may be held. */
void pin_give_back(struct block *block);

/* Calls pin_told, if it is set. */
void pin_tell(const struct block *block, bool begins, uint64_t ns);

/* The driver has pinned the block, with `owner` current.  No lock may be held. */
void pin_begun(struct block *block, uintptr_t owner);

/*
 * The driver has refused the block with the CUresult `result`.  After a few refusals that concern
 * the whole process, nothing is pinned any more.  No lock may be held.
 */
void pin_refused(struct block *block, int result);

/*
 * The program cannot pin memory: hotpin pins nothing for a while, the longer the more often this
 * happens.  No lock may be held.
 */
void pin_be_lean(void);

/*
 * This thread is about to end our registration of the block.  Returns its owner.  Requires the
 * lock pin.
 */
uintptr_t pin_ending(struct block *block);

/*
 * The registration has ended: its room goes back to the budget, and the block becomes `then`.  If
 * `error` of registration_end() says that the driver still holds the pages, they stay in the
 * budget and the block becomes BLOCK_USER_REGISTERED.  Requires the lock pin.
 */
void pin_ended(struct block *block, int error, enum block_pin then);

/* The registration has ended with its context.  Called from heap_each(). */
void pin_lost(struct block *block);

/*
 * Bracket the end of a registration of a block in use: no copy of another thread is in the driver,
 * which may have looked up the registration for a copy that has not reached the device
 * (doc/measurements.md#unregister-copy).  Copies that begin meanwhile wait.  pin_stop_copies()
 * waits for those that have begun, a second at most, because they may wait for this thread.
 * `in_copy`: the caller is inside pin_copies.  No lock may be held.
 */
void pin_stop_copies(bool in_copy);
void pin_resume_copies(void);

/*
 * Bracket a change that a call of the program makes to a block in use.  Between them the lock pin
 * is held, no thread changes the block's pin, and copies are stopped as above if the block is
 * pinned.  pin_change_begin() returns what pin_change_end() needs.
 */
bool pin_change_begin(struct block *block, bool in_copy);
void pin_change_end(bool alone);

/*
 * Ends our registration of a BLOCK_PINNED block, which becomes `then`.  Waits for running kernels,
 * as the driver does.  Between pin_change_begin() and its end; releases the lock pin meanwhile.
 */
void pin_take_off(struct block *block, enum block_pin then);

/* True if blocks may be pinned now.  A few loads. */
bool pin_allowed(void);

/* True between pin_hold() and pin_release(), of any thread. */
bool pin_is_held(void);

/* Returns the bytes of the budget that are free.  Two loads. */
size_t pin_room_left(void);

/*
 * In the child of fork(): we have pinned no block, and if `registered`, the program has registered
 * none either.  Requires the lock pin.
 */
void pin_forget_all(bool registered);

/* Returns the bytes of blocks that we have pinned, now and at most.  Any thread, no lock. */
void pin_stats(size_t *ret_now, size_t *ret_most);

#endif
