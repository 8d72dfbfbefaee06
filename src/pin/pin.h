/*
 * The pin state of blocks, and the budget of pinned memory.
 *
 * Blocks are registered and unregistered in src/pin only.  Staging memory is registered by
 * stage/memory.c, out of the same budget.  To the program a pinned block stays pageable: the shim
 * answers queries about it accordingly.
 */
#ifndef HP_PIN_PIN_H
#define HP_PIN_PIN_H

#include "heap/block.h"
#include "real/real.h"

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
 * Disables pinning for good, for instance because the device reads the host's page tables.  Pinned
 * blocks stay pinned.  `why` is for the log.  Any thread.
 */
void pin_stop(const char *why);

/*
 * No block is pinned from pin_hold() to pin_release(), in any thread.  A caller that calls the
 * driver with addresses that must be pageable unpins their blocks after pin_hold() (pin/unpin.h):
 * captured copies, nodes of graphs, copies across a block's end, advice.  A context that ends
 * holds, too.  The housekeeper unpins nothing meanwhile.
 */
void pin_hold(void);
void pin_release(void);

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

/* In the child of fork(): no block is pinned, and none will be. */
void pin_after_fork_child(void);

/*
 * Says that a thread calls pin_queued() (pin/pinning.h) after each ring of pin_bell, a futex. Until
 * then copies pin blocks themselves.
 */
void pin_set_thread(void);
extern _Atomic uint32_t pin_bell;

/* True between pin_set_thread() and a fork. */
bool pin_has_thread(void);

/* True if pin_queued() has something to do.  One load. */
bool pin_has_queued(void);

/* Returns the bytes of blocks that we have pinned.  Any thread, no lock. */
size_t pin_bytes(void);

/* True if blocks may be pinned now.  A few loads; after a refusal, a look at the coarse clock. */
bool pin_allowed(void);

/* True between pin_hold() and pin_release(), of any thread. */
bool pin_is_held(void);

/*
 * Registers [base, base + bytes), of a block or of staging memory, for all contexts.  Never waits
 * for the device.  If the memory is registered already, pinning ends (pin_stop()).  No lock may be
 * held; errno is kept.
 */
CUresult registration_begin(uintptr_t base, size_t bytes);

/* The functions from here on are for src/pin only. */

/* Sets the answer of pin_has_queued().  `due`: wakes the thread. */
void pin_set_queued(bool due);

/* Returns the bytes of the budget that are free.  Two loads. */
size_t pin_room_left(void);

/*
 * Takes `room` out of the budget for a block whose word this thread has alone.  False: not now.
 * pin_room_ended() or pin_refused() follows some time.  Requires the lock pin.
 */
bool pin_reserve(size_t room);

/* The room of a block goes back to the budget. */
void pin_room_ended(size_t room);

/*
 * The driver has refused a block, or memory that the program pins.  Nothing is pinned for ten
 * seconds.
 */
void pin_refused(void);

/* Calls pin_told, if it is set. */
void pin_tell(const struct block *block, bool begins, uint64_t ns);

/*
 * True if this process may register memory, and a context is current, which is returned.  False in
 * a child of clone() or vfork().  No lock may be held.
 */
bool registration_possible(uintptr_t *ret_context);

/*
 * Ends the registration of the block.  Waits for running kernels.  `owner`, which was current at
 * the registration, is made current meanwhile.  If the memory is not registered any more, pinning
 * ends.  Returns 0, or -EBUSY: the driver refuses, or this is another process, and the memory must
 * be treated as registered.  No lock may be held; errno is kept.
 */
int registration_end(const struct block *block, uintptr_t owner);

#endif
