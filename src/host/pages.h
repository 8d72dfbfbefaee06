/*
 * What the kernel is asked to do with the pages of a block.
 *
 * Inside host/ only.  Only the calling thread may know of the block; no lock is needed, and none
 * should be held: large ranges take milliseconds.  errno is kept.
 */
#ifndef HP_HOST_PAGES_H
#define HP_HOST_PAGES_H

#include "host/block.h"

/* The pages go back; the addresses read as zero from now on.  False: the kernel keeps them. */
bool pages_purge(struct block *block);

/*
 * Writes zeroes to [from, to) of a block that was in use before.  What a large one holds in few
 * pages only goes back instead: a program that touches little of what calloc() gives it must not
 * get all of it.
 */
void pages_clear(struct block *block, uintptr_t from, uintptr_t to);

/* Asks for 2 MiB pages in [from, to), which nobody has touched yet. */
void pages_want_huge(uintptr_t from, uintptr_t to);

/*
 * Moves the pages of `from` to the start of `to`, which is at least as long and untouched; `from`
 * reads as zero then.  False, and nothing has changed, where the kernel cannot (before Linux 5.7).
 */
bool pages_move(struct block *from, struct block *to);

#endif
