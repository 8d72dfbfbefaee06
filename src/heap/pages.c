/*
 * pages.c - madvise(), mremap() and clearing.
 *
 * The heap should stay one mapping: a process may have 65530 by default, and the program needs its
 * share.  Moved pages form a mapping that never merges with its neighbors again, and advice stays
 * with the addresses.  So the addresses of such blocks are mapped again when they go back.  The
 * same holds for blocks whose mapping the program has changed.
 *
 * Libraries for RDMA (UCX, Open MPI, libfabric) cache registrations of host memory.  They overwrite
 * libc's functions to learn which pages go, since they trust libc's malloc() to call these.  So the
 * heap drops pages that a program has used by these functions, too.
 */
#include "heap/pages.h"
#include "base/kernel.h"

#include <errno.h>
#include <string.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4 /* Linux 5.7 */
#endif

/* The step of pages_clear(), and the least range that it looks at so closely. */
#define PIECE     ((size_t)4 << 20)
#define LOOK_FROM ((size_t)32 << 20)

/*
 * Number of pages that tell whether a large block is sparse, and of turns for which the answer
 * holds.
 */
#define SAMPLES   4
#define TURNS     8

/* libc's functions; NULL: the kernel is called.  Written before the heap returns blocks. */
static pages_advise *libc_advise;
static pages_map *libc_map;

void pages_go_by(pages_advise *advise, pages_map *map)
{
	libc_advise = advise;
	libc_map = map;
}

static bool map_again(void *base, size_t room)
{
	const int protection = PROT_READ | PROT_WRITE, flags = MAP_NORESERVE | MAP_FIXED;

	if (libc_map == NULL)
		return hp_map(base, room, protection, flags) == base;
	return libc_map(base, room, protection, flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == base;
}

static bool drop(void *from, size_t bytes, int advice)
{
	return (libc_advise != NULL ? libc_advise : hp_advise)(from, bytes, advice) == 0;
}

bool pages_purge(struct block *block)
{
	void *base = (void *)block->base;
	int saved = errno;

	if (!word_try_clear(&block->word))
		return false;
	bool altered = block_is_altered(block);
	bool done = (block->moved || block->huge || altered) && map_again(base, block->room);
	/* Memory locked by mlock() needs its own advice. */
	if (!done && !altered)
		done = drop(base, block->room, MADV_DONTNEED) ||
		       drop(base, block->room, MADV_DONTNEED_LOCKED);
	if (done && altered)
		word_restore(&block->word, WORD_ALTERED);
	word_release(&block->word, false);
	errno = saved;
	return done;
}

/* True if fewer than half of these pages are resident. */
static bool is_sparse(const void *from, size_t bytes)
{
	unsigned char in_core[PIECE / HP_PAGE_BYTES];
	size_t count = 0;

	if (hp_in_core(from, bytes, in_core) != 0)
		return false;
	for (size_t i = 0; i < bytes / HP_PAGE_BYTES; i++)
		count += in_core[i] & 1;
	return count < bytes / HP_PAGE_BYTES / 2;
}

/*
 * As is_sparse(), by a sample of pages: a program that touched one page has only paid for its
 * fault.
 */
static bool seems_sparse(struct block *block)
{
	unsigned there = 0, missing = 0;

	if (block->turns_sparse > 0) {
		block->turns_sparse--;
		return true;
	}
	for (size_t i = 0; there < SAMPLES / 2 && missing <= SAMPLES / 2; i++) {
		uintptr_t page = block->base + (2 * i + 1) * block->room / (2 * SAMPLES);
		unsigned char in_core = 1;

		if (hp_in_core((void *)(page & -HP_PAGE_BYTES), HP_PAGE_BYTES, &in_core) != 0)
			return false;
		there += in_core & 1;
		missing += !(in_core & 1);
	}
	if (missing > SAMPLES / 2)
		block->turns_sparse = TURNS - 1;
	return missing > SAMPLES / 2;
}

void pages_clear(struct block *block, uintptr_t from, uintptr_t to)
{
	int saved = errno;
	/* A thread of ours may be about to pin the block, which was copied before it was freed. */
	bool may_drop = to - from >= LOOK_FROM && word_try_pin(&block->word), alone = may_drop;

	if (may_drop && seems_sparse(block) &&
	    drop((void *)block->base, block->room, MADV_DONTNEED))
		from = to;
	while (from < to) {
		uintptr_t next = (from | (PIECE - 1)) + 1;
		size_t bytes = (next < to ? next : to) - from;

		/* Dropped, not skipped: a page that is not resident may be in swap. */
		if (!may_drop || bytes != PIECE || !is_sparse((void *)from, bytes) ||
		    !drop((void *)from, bytes, MADV_DONTNEED))
			memset((void *)from, 0, bytes);
		from += bytes;
	}
	if (alone)
		word_release(&block->word, false);
	errno = saved;
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
