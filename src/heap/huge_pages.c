/*
 * huge_pages.c - decides about 2 MiB pages by how the last block of the same site was copied.
 *
 * hotpin cannot know how much of a block a program will touch, and a wrong guess may grow the
 * process 512-fold.  But a program that copies a whole block has written it all, or is about to;
 * and blocks of one allocation site are mostly used alike.
 */
#include "heap/huge_pages.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "base/lock.h"

/* A copy of all but one part in so many counts as one of the whole block. */
#define WHOLE_PART 8

/* Sites are told apart by all but two bits, which hold what is known; a newer one replaces. */
#define SITES_BITS 12
#define SITE_KNOWN 3u

_Atomic bool huge_device;
_Atomic bool huge_everywhere;

static _Atomic uint32_t sites[1 << SITES_BITS]; /* any thread */

static _Atomic uint32_t *record_of(uint32_t site)
{
	return &sites[site * UINT32_C(0x9e3779b1) >> (32 - SITES_BITS)];
}

enum huge_site huge_site(uint32_t site)
{
	uint32_t record = atomic_load_explicit(record_of(site), memory_order_relaxed);

	return ((record ^ site) & ~SITE_KNOWN) == 0 ? (enum huge_site)(record & SITE_KNOWN)
						    : SITE_UNKNOWN;
}

void huge_note_site(uint32_t site, enum huge_site is)
{
	if (site != 0)
		atomic_store_explicit(record_of(site), (site & ~SITE_KNOWN) | (uint32_t)is,
				      memory_order_relaxed);
}

bool huge_would_be_better(const struct block *block)
{
	return !block->huge && block->copied_ns != 0 && block_pin(block) == BLOCK_PAGEABLE &&
	       huge_decide(block->room, block->site);
}

/* Asks for 2 MiB pages.  The program owns the block, so only its pin can change meanwhile. */
static void make_huge(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	bool may = block->state == BLOCK_LIVE && block_pin(block) == BLOCK_PAGEABLE;
	if (may)
		atomic_store_explicit(&block->huge, true, memory_order_relaxed);
	hp_unlock(HP_LOCK_heap);
	if (may)
		pages_want_huge(block->base, block->base + block->room);
}

void huge_before_copy(struct block *block, bool to_device, size_t bytes)
{
	size_t size = atomic_load_explicit(&block->size, memory_order_relaxed);

	if (size < HP_HUGE_PAGE_BYTES || bytes < size - size / WHOLE_PART ||
	    !atomic_load_explicit(&huge_device, memory_order_relaxed) ||
	    atomic_load_explicit(&block->copied_ns, memory_order_relaxed) != 0)
		return;

	unsigned percent = pages_resident_percent(block->start, size);
	huge_note_site(block->site, !to_device || percent == 100 ? SITE_DENSE : SITE_SPARSE);
	if (!to_device && percent == 0 && !block->huge)
		make_huge(block);
}

void huge_advised(const void *address, size_t bytes)
{
	uintptr_t at = (uintptr_t)address, end = range_end(address, bytes);

	for (struct block *block; (block = range_walk(&at, end)) != NULL;)
		atomic_store_explicit(&block->huge, true, memory_order_relaxed);
}
