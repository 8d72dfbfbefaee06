/*
 * The account of one block: what its copies cost since its pages came or were unpinned (heat.h).
 *
 * Inside host/ only.  Any thread, under any lock; takes none.
 */
#ifndef HP_HOST_SEASON_H
#define HP_HOST_SEASON_H

#include "host/block.h"
#include "host/heat.h"

/* The price of pinning the block at today's rates, ns. */
uint64_t season_price(const struct block *block);

/* heat_choose() for a copy that would gain `gain`; what it wants to draw has been drawn. */
enum heat_verdict season_choose(struct block *block, uint64_t gain, uint64_t price, bool behind);

/* The copy ran pageable. */
void season_rented(struct block *block, uint64_t gain);

/* The block is pinned now, before a copy that would have gained `gain`; 0: in the background. */
void season_bought(struct block *block, uint64_t gain, uint64_t price);

/* A copy of the pinned block; `gain` is asked for only where it matters. */
bool season_is_owed(const struct block *block);
void season_spared(struct block *block, uint64_t gain);

/* Is a block that waits for the background worth pinning still? */
bool season_still_worth(const struct block *block, uint64_t price);

/* The block has been unpinned: the next season begins. */
void season_unpinned(struct block *block);

/* Never pinned, and its pages go, or it turned out not to be what its copies made of it. */
void season_not_bought(struct block *block);

#endif
