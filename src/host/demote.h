/*
 * Who must give up his pin, and for whom?
 *
 * Inside host/ only.
 */
#ifndef HP_HOST_DEMOTE_H
#define HP_HOST_DEMOTE_H

#include "host/block.h"

/*
 * The budget has no room for the block, though a copy at hand would gain `gain`.  If blocks in use
 * that are not copied any more hold what it needs, pin_wants_idle() becomes true.  The lock pin is
 * held.
 */
void oust_wish(struct block *block, uint64_t gain);

/* It is pinned now.  The lock pin is held. */
void oust_granted(const struct block *block);

/* The lock pin is held. */
void demote_after_fork_child(void);

#endif
