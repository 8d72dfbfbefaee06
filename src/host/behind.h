/*
 * Which blocks wait to be pinned by a thread of ours, and for which context?
 *
 * Inside host/ only.
 */
#ifndef HP_HOST_BEHIND_H
#define HP_HOST_BEHIND_H

#include "host/block.h"

/* Is there a thread that calls pin_in_background()?  One load. */
bool behind_possible(void);

/*
 * The block shall be pinned in the background, with `context` current.  False: too many wait.  Once
 * is enough, twice does no harm; so the block may be freed and be another's meanwhile.  Takes the
 * lock pin.
 */
bool behind_add(struct block *block, uintptr_t context);

/*
 * Nothing is pinned with `context` current any more when this returns; waits for a registration
 * that is under way (milliseconds; the driver does not wait for the device).  No lock may be held.
 */
void behind_forget(uintptr_t context);

/* The lock pin is held. */
void behind_after_fork_child(void);

#endif
