/*
 * huge_pages.c - decides about 2 MiB pages by how the last block of the same site was copied.
 *
 * hotpin cannot know how much of a block a program will touch, and a wrong guess may grow the
 * process 512 times.  But a program that copies a whole block has written it all, or is about to;
 * and blocks of one allocation site are mostly used alike.
 */
#include "heap/huge_pages.h"
#include "base/lock.h"
#include "heap/pages.h"
#include "heap/resident.h"
#include "heap/site.h"

#include <assert.h>

/* A copy of all but one part in so many counts as one of the whole block. */
#define WHOLE_PART 8

_Atomic bool huge_device;

static void set_use(struct block *block, enum block_use use)
{
	atomic_store_explicit(&block->use, use, memory_order_relaxed);
}

void huge_freed(const struct block *block)
{
	if (atomic_load_explicit(&huge_device, memory_order_relaxed) &&
	    block->size >= HP_HUGE_PAGE_BYTES)
		site_note_dense(block->site, block->use == BLOCK_DENSE);
}

bool huge_would_be_better(const struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	return !block->huge && block->pin == BLOCK_PAGEABLE &&
	       huge_decide(block->room, block->site);
}

/* Asks for 2 MiB pages.  The program owns the block, so only its pin can change meanwhile. */
static void make_huge(struct block *block)
{
	hp_lock(HP_LOCK_heap);
	bool may = block->state == BLOCK_LIVE && block->pin == BLOCK_PAGEABLE && !block->altered;
	if (may)
		atomic_store_explicit(&block->huge, true, memory_order_relaxed);
	hp_unlock(HP_LOCK_heap);
	if (may)
		pages_want_huge(block->base, block->base + block->room);
}

void huge_before_copy(struct block *block, bool to_device, size_t bytes)
{
	size_t size = atomic_load_explicit(&block->size, memory_order_relaxed);
	uint32_t use = atomic_load_explicit(&block->use, memory_order_relaxed);

	if (size < HP_HUGE_PAGE_BYTES || bytes < size - size / WHOLE_PART ||
	    !atomic_load_explicit(&huge_device, memory_order_relaxed) ||
	    (use != BLOCK_NEW && use != BLOCK_ZEROED))
		return;

	unsigned percent = resident_percent(block->start, size);
	bool dense = use == BLOCK_NEW && (!to_device || percent == 100);
	set_use(block, dense ? BLOCK_DENSE : BLOCK_SPARSE);
	site_note_dense(block->site, dense);
	if (!to_device && percent == 0 && !block->huge)
		make_huge(block);
}
