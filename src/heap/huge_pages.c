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

#define SITES_BITS 12

_Atomic bool huge_device;
_Atomic bool huge_everywhere;

/* Dense sites; a newer one replaces another.  0: none.  Any thread. */
static _Atomic uint32_t sites[1 << SITES_BITS];

static _Atomic uint32_t *record_of(uint32_t site)
{
	return &sites[site * UINT32_C(0x9e3779b1) >> (32 - SITES_BITS)];
}

bool huge_site_is_dense(uint32_t site)
{
	return site != 0 && atomic_load_explicit(record_of(site), memory_order_relaxed) == site;
}

void huge_note_site(uint32_t site, bool is_dense)
{
	if (is_dense || huge_site_is_dense(site))
		atomic_store_explicit(record_of(site), is_dense ? site : 0, memory_order_relaxed);
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
	huge_note_site(block->site, !to_device || percent == 100);
	if (!to_device && percent == 0 && !block->huge)
		make_huge(block);
}

void huge_advised(const void *address, size_t bytes)
{
	for (struct block *block = NULL; (block = range_next(block, address, bytes)) != NULL;)
		atomic_store_explicit(&block->huge, true, memory_order_relaxed);
}
