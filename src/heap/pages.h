/*
 * System calls on the pages of a block.
 *
 * No lock is needed, and none should be held: large ranges take milliseconds, and libraries that
 * have overwritten libc's functions run.  What changes a block is for its owner.  errno is kept.
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
 * Maps private anonymous memory at a multiple of HP_HUGE_PAGE_BYTES, without reserving
 * swap space for it.  NULL: not possible.
 */
char *pages_reserve(size_t bytes, int protection);

/*
 * Gives the pages back; the addresses read as zero from now on.  False: the kernel keeps the
 * pages.
 */
bool pages_purge(struct block *block);

/*
 * Clears [from, to) of a block that was in use before, or drops all its pages if these are many.
 * So a program that touches little of its large calloc() does not make all of it resident.
 */
void pages_clear(struct block *block, uintptr_t from, uintptr_t to);

/* Drops the pages from `room` on, which no pin covers. */
void pages_drop_tail(struct block *block, size_t room);

/* Asks for 2 MiB pages in [from, to), which was never touched. */
void pages_want_huge(uintptr_t from, uintptr_t to);

/*
 * Moves the first `bytes` of `from` to the start of `to`, which is untouched; they read as zero in
 * `from` then.  False, with nothing changed: the kernel cannot (before Linux 5.7).
 */
bool pages_move(struct block *from, struct block *to, size_t bytes);

/* Sampling pays from this size on. */
#define RESIDENT_WORTH_ASKING ((size_t)256 << 20)

/* Registering a block of which less is resident, in percent, would grow the process. */
#define RESIDENT_LEAST        50

/*
 * Returns the percentage of the pages of [from, from + bytes) that are resident, by a sample; 100
 * means all of the sample.
 */
unsigned pages_resident_percent(uintptr_t from, size_t bytes);

#endif
