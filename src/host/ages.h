/*
 * Which of these blocks was freed first?
 *
 * Inside host/ only.  Whoever has one guards it; the list goes through block->older and newer.
 */
#ifndef HP_HOST_AGES_H
#define HP_HOST_AGES_H

#include "host/block.h"

struct ages {
	struct block *oldest, *newest;
	size_t bytes; /* the sum of the rooms */
};

/* Adds a block by its freed_ns; cheap where that is late. */
void ages_add(struct ages *ages, struct block *block);
void ages_remove(struct ages *ages, struct block *block);

/* Debug walk: are order and sum right?  Adds the blocks to *count. */
bool ages_hold(const struct ages *ages, size_t *count);

#endif
