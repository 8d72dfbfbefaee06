/*
 * pages.c - madvise(), mremap(), mincore() and clearing.
 *
 * The heap should stay one mapping: a process may have 65530 by default, and the program needs its
 * share.  Moved pages form a mapping that never merges with its neighbors again, and advice stays
 * with the addresses.  So the addresses of blocks that may have either, or whose mapping the
 * program has changed, are mapped again when they go back.
 *
 * Libraries for RDMA (UCX, Open MPI, libfabric) cache registrations of host memory.  They overwrite
 * libc's functions to learn which pages go, since they trust libc's malloc() to call these.  So the
 * heap drops pages that a program has used by these functions, too.
 */
#include "heap/pages.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "heap/huge_pages.h"
#include "heap/map.h"

#include <errno.h>
#include <string.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24 /* Linux 5.18 */
#endif

/* Ranges from this size on are dropped, not cleared: faults then cost no more than writing. */
#define DROP_FROM     ((size_t)32 << 20)

/* One page in so many bytes is sampled, within these bounds: 0.2 us each. */
#define STEP          ((size_t)4 << 20)
#define SAMPLES_LEAST 8
#define SAMPLES_MOST  64

/* libc's functions; NULL: the kernel is called.  Written before the heap returns blocks. */
static pages_advise *libc_advise;
static pages_map *libc_map;

void pages_go_by(pages_advise *advise, pages_map *map)
{
	libc_advise = advise;
	libc_map = map;
}

char *pages_reserve(size_t bytes, int protection)
{
	char *got = hp_map(NULL, bytes + HP_HUGE_PAGE_BYTES, protection, MAP_NORESERVE);

	if (got == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)got & (HP_HUGE_PAGE_BYTES - 1);
	if (before != 0)
		hp_unmap(got, before);
	hp_unmap(got + before + bytes, HP_HUGE_PAGE_BYTES - before);
	return got + before;
}

static bool map_again(void *base, size_t room)
{
	const int protection = PROT_READ | PROT_WRITE, flags = MAP_NORESERVE | MAP_FIXED;
	int saved = errno;
	void *got = libc_map == NULL ? hp_map(base, room, protection, flags)
				     : libc_map(base, room, protection,
						flags | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	errno = saved;
	if (got == base && huge_everywhere)
		hp_advise(base, room, MADV_NOHUGEPAGE);
	return got == base;
}

/* Memory locked by mlock() needs its own advice. */
static bool drop(uintptr_t from, size_t bytes)
{
	pages_advise *advise = libc_advise != NULL ? libc_advise : hp_advise;
	int saved = errno;
	bool done = advise((void *)from, bytes, MADV_DONTNEED) == 0 ||
		    advise((void *)from, bytes, MADV_DONTNEED_LOCKED) == 0;

	errno = saved;
	return done;
}

/*
 * Large blocks are mapped again, because only then do their page tables go, too.  The kernel maps
 * under a lock that page faults of other threads wait for, so the pages go before.
 */
bool pages_purge(struct block *block)
{
	if (!word_try_clear(&block->word))
		return false;
	bool altered = block_is_altered(block), closed = map_is_closed();
	bool maps = !closed && (block->bytes >= HP_HUGE_PAGE_BYTES || block->huge || altered);
	bool done = block->touched == 0 && !altered;
	if (!done) {
		/* In a closed heap the addresses go next. */
		bool dropped =
			((!altered || closed) && drop(block->base, block->touched)) || closed;

		done = (maps && map_again((void *)block->base, block->bytes)) || dropped;
	}
	if (done && altered)
		word_restore(&block->word, WORD_ALTERED);
	word_release(&block->word, false, NULL);
	return done;
}

void pages_drop_tail(struct block *block, size_t room)
{
	if (room < block->touched && drop(block->base + room, block->touched - room))
		block->touched = room;
}

void pages_clear(struct block *block, uintptr_t from, uintptr_t to)
{
	bool dropped = false;

	hp_section_begin();
	/* A thread of ours may be about to pin the block, which was copied before it was freed. */
	if (to - from >= DROP_FROM && word_try_pin(&block->word)) {
		dropped = drop(block->base, block->touched);
		word_release(&block->word, false, NULL);
	}
	hp_section_end();
	if (!dropped)
		memset((void *)from, 0, to - from);
}

void pages_want_huge(uintptr_t from, uintptr_t to)
{
	hp_advise((void *)from, to - from, MADV_HUGEPAGE);
}

bool pages_move(struct block *from, struct block *to, size_t bytes)
{
	void *target = (void *)to->base;

	return hp_remap((void *)from->base, bytes, target) == target;
}

/*
 * Swapped pages count as not resident.  If the kernel refuses to say (some sandboxes forbid
 * mincore), the pages count as resident, because registering is correct in any case.
 */
unsigned pages_resident_percent(uintptr_t from, size_t bytes)
{
	size_t samples = bytes / STEP;
	unsigned there = 0;

	samples = samples < SAMPLES_LEAST ? SAMPLES_LEAST : samples;
	samples = samples > SAMPLES_MOST ? SAMPLES_MOST : samples;
	for (size_t i = 0; i < samples; i++) {
		uintptr_t page = (from + i * ((bytes - 1) / (samples - 1))) & -HP_PAGE_BYTES;
		unsigned char in_core = 1;

		if (hp_in_core((void *)page, HP_PAGE_BYTES, &in_core) != 0 || (in_core & 1) != 0)
			there++;
	}
	return there * 100 / (unsigned)samples;
}
