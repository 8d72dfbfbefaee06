/*
 * huge_pages.c - decides about 2 MiB pages by how the last block of the same site was copied.
 *
 * hotpin cannot know how much of a block a program will touch, and a wrong guess may grow the
 * process 512-fold.  But a program that copies a whole block has written it all, or is about to;
 * and blocks of one allocation site are mostly used alike.  Of a site of which nothing is known,
 * one block of malloc() gets them at once, because the first pin of a program costs the most; all
 * such blocks together may have a small part of the memory.  calloc() is what programs call for
 * large tables with few entries, so its blocks wait for a copy.
 */
#include "heap/huge_pages.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "base/lock.h"

#include <assert.h>

/* Blocks that were never copied may have this part of the memory in 2 MiB pages. */
#define ONCE_PART  64

/* Larger blocks are often sparse. */
#define ONCE_MOST  ((size_t)256 << 20)

/* A copy of all but one part in so many counts as one of the whole block. */
#define WHOLE_PART 8

/* Sites are told apart by all but two bits, which hold what is known; a newer one replaces. */
#define SITES_BITS 12
#define SITE_KNOWN 3u

_Atomic bool huge_device;
_Atomic bool huge_everywhere;

static size_t once_most; /* under the lock heap */

/* Any thread. */
static _Atomic size_t unproven; /* the bytes of blocks that got 2 MiB pages and were not copied */
static _Atomic uint32_t sites[1 << SITES_BITS];

void huge_set_device(bool is_there, size_t ram, size_t left)
{
	assert(hp_lock_held(HP_LOCK_heap));
	atomic_store(&huge_device, is_there);
	once_most = (left < ram ? left : ram) / ONCE_PART;
}

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

enum huge_verdict huge_decide_by_site(size_t bytes, bool zeroed, uint32_t site)
{
	enum huge_site is = huge_site(site);

	if (is == SITE_DENSE || huge_everywhere)
		return HUGE_PROVEN;
	return is == SITE_UNKNOWN && site != 0 && !zeroed && bytes <= ONCE_MOST ? HUGE_ONCE
										: HUGE_NOT;
}

bool huge_claim(struct block *block, enum huge_verdict verdict)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (verdict == HUGE_NOT || (verdict == HUGE_ONCE && unproven + block->room > once_most))
		return false;
	if (verdict == HUGE_ONCE) {
		huge_note_site(block->site, SITE_TRIED);
		unproven += block->room;
		atomic_store(&block->unproven, block->room);
	}
	atomic_store_explicit(&block->huge, true, memory_order_relaxed);
	return true;
}

void huge_proven_now(struct block *block)
{
	unproven -= atomic_exchange(&block->unproven, 0);
}

bool huge_would_be_better(const struct block *block)
{
	return !block->huge && block->copied_ns != 0 && block_pin(block) == BLOCK_PAGEABLE &&
	       huge_decide(block->room, false, block->site) == HUGE_PROVEN;
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
	huge_proven(block);
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
