/*
 * pages.c - madvise() and mremap().
 *
 * The heap's mapping should stay one piece: a process may have 65530 mappings by default and the
 * program needs its share.  Moved pages form a mapping of their own that never grows together with
 * its neighbours again, so theirs is made anew when they are given back.
 */
#define _GNU_SOURCE
#include "host/pages.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

static bool map_anew(void *base, size_t room)
{
	return mmap(base, room, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == base;
}

bool pages_purge(struct block *block)
{
	void *base = (void *)block->base;
	int saved = errno;

	/* Memory locked by mlock() has an advice of its own. */
	bool done = (block->moved && map_anew(base, block->room)) ||
		    madvise(base, block->room, MADV_DONTNEED) == 0 ||
		    madvise(base, block->room, MADV_DONTNEED_LOCKED) == 0;
	errno = saved;
	return done;
}

void pages_want_huge(uintptr_t from, uintptr_t to)
{
	int saved = errno;

	madvise((void *)from, to - from, MADV_HUGEPAGE);
	errno = saved;
}

bool pages_move(struct block *from, struct block *to)
{
	int saved = errno;
	void *target = (void *)to->base;
	bool done = mremap((void *)from->base, from->room, from->room,
			   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, target) == target;

	errno = saved;
	return done;
}
