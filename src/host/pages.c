/*
 * pages.c - madvise() and mremap().
 *
 * The heap's mapping should stay one piece: a process may have 65530 mappings by default and the
 * program needs its share.  Moved pages form a mapping of their own that never grows together with
 * its neighbours again, so theirs is made anew when they are given back.  So is what the program
 * has altered: nothing less undoes a protection, a file or an advice for fork().
 */
#include "host/pages.h"
#include "base/kernel.h"

#include <errno.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

static bool map_anew(void *base, size_t room)
{
	return hp_map(base, room, PROT_READ | PROT_WRITE, MAP_NORESERVE | MAP_FIXED) == base;
}

bool pages_purge(struct block *block)
{
	void *base = (void *)block->base;
	int saved = errno;

	bool done = (block->moved || block->altered) && map_anew(base, block->room);
	/* Memory locked by mlock() has an advice of its own. */
	if (!done && !block->altered)
		done = hp_advise(base, block->room, MADV_DONTNEED) == 0 ||
		       hp_advise(base, block->room, MADV_DONTNEED_LOCKED) == 0;
	errno = saved;
	return done;
}

void pages_want_huge(uintptr_t from, uintptr_t to)
{
	int saved = errno;

	hp_advise((void *)from, to - from, MADV_HUGEPAGE);
	errno = saved;
}

bool pages_move(struct block *from, struct block *to)
{
	int saved = errno;
	void *target = (void *)to->base;
	bool done = hp_remap((void *)from->base, from->room, MREMAP_DONTUNMAP, target) == target;

	errno = saved;
	return done;
}
