/*
 * Ends our registrations of blocks.
 *
 * The functions pin_evict*() are for the housekeeper, which knows that the device is idle
 * (engine/housekeeper.c).  They leave blocks with users alone.  The others are for the program:
 * each call waits for users of the blocks, for a second at most in all, and for running kernels, as
 * the driver does.
 */
#ifndef HP_PIN_UNPIN_H
#define HP_PIN_UNPIN_H

#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Unpins the blocks in [address, address + bytes).  They may be pinned again, but not before
 * pin_release() if the caller has called pin_hold().  The caller is inside no block.  Returns the
 * bytes unpinned.
 */
size_t pin_unpin(const void *address, size_t bytes);

/*
 * The program is about to change the mapping of [address, address + bytes).  Unpins the blocks
 * there, and does not pin them again until they are freed and mapped again.  Keeps errno.
 */
void pin_altered(const void *address, size_t bytes);

/*
 * Unpins all blocks, for a call of the program that cannot pin memory, and pins nothing for a
 * while.  Nothing is unpinned while pin_hold() is in force.  Returns the bytes.
 */
size_t pin_unpin_all(void);

/*
 * Unpins up to `bytes_most` bytes of freed blocks that are due, oldest first.  Calls the driver,
 * holding no lock.  Returns the bytes unpinned; 0: nothing to do.
 */
size_t pin_evict_due(size_t bytes_most);

/*
 * Unpins about `bytes`, under severe memory pressure or before a fork(): first freed blocks, then
 * blocks in use.  Calls the driver, holding no lock.  Returns the bytes unpinned.
 */
size_t pin_evict(size_t bytes);

/*
 * The program is about to destroy, reset or release the context `owner`, which may end its
 * registrations.  Until pin_context_ended(), no copy enters its pinned blocks, and nothing is
 * pinned.  Waits for the copies inside these blocks, without a limit.  Calls no driver function.
 * pin_queue_forget() follows.
 */
void pin_context_ending(uintptr_t owner);

/*
 * The program's call has returned.  The registrations are `gone`, or the call failed and the
 * registrations still exist.
 */
void pin_context_ended(uintptr_t owner, bool gone);

/*
 * For src/pin only.  Unpins the block if it is pinned, or is being pinned.  `taken`: the caller has
 * taken its word. Returns its room, or 0 if it was not pinned.
 */
size_t unpin_block(struct block *block, bool taken, word_until *until);

#endif
