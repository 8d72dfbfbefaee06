/*
 * System calls on the pages of a block.
 *
 * Only the calling thread may reach the block.  No lock is needed, and none should be held: large
 * ranges take milliseconds, and libraries that have overwritten libc's functions run.  errno is
 * kept.
 */
#ifndef HP_HEAP_PAGES_H
#define HP_HEAP_PAGES_H

#include "heap/block.h"

#include <sys/types.h>

typedef int pages_advise(void *from, size_t bytes, int advice);
typedef void *pages_map(void *from, size_t bytes, int protection, int flags, int fd, off_t offset);

/*
 * Gives pages back by libc's madvise() and mmap() from now on; NULL: by system calls, as before.
 * Before heap_alloc() returns blocks.
 */
void pages_go_by(pages_advise *advise, pages_map *map);

/*
 * Gives the pages back; the addresses read as zero from now on.  False: the kernel keeps the
 * pages.
 */
bool pages_purge(struct block *block);

/*
 * Clears [from, to) of a block that was in use before.  If a large block is sparsely resident,
 * drops its pages instead.  So a program that touches little of its calloc() does not make all of
 * it resident.
 */
void pages_clear(struct block *block, uintptr_t from, uintptr_t to);

/* Asks for 2 MiB pages in [from, to), which was never touched. */
void pages_want_huge(uintptr_t from, uintptr_t to);

/*
 * Moves the pages of `from` to the start of `to`, which is untouched and at least as long; `from`
 * reads as zero then.  False, with nothing changed: the kernel cannot (before Linux 5.7).
 */
bool pages_move(struct block *from, struct block *to);

#endif
