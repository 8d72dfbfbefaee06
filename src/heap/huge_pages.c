/*
 * huge_pages.c - decides about 2 MiB pages by how earlier blocks of the same site were copied.
 *
 * hotpin cannot know how much of a block a program will touch, and a wrong guess may grow the
 * process sixteenfold.  But a program that copies a whole block has written it all, or is about to;
 * and blocks of one allocation site are mostly used alike.  So an unknown site gets one block with
 * 2 MiB pages on trial, until that block is copied, freed, or seen to be written all over.  One
 * written word makes 512 pages resident there, so the upper end of a block on trial, its probe,
 * stays on 4 KiB pages.
 */
#include "heap/huge_pages.h"
#include "base/clock.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "heap/limits.h"
#include "heap/map.h"
#include "heap/pages.h"
#include "heap/resident.h"
#include "heap/site.h"
#include "heap/span.h"

#include <assert.h>

/*
 * Blocks that were never copied may have this part of the memory in 2 MiB pages; of that, blocks
 * on trial may have the second part.
 */
#define CLAIM_PART  16
#define TRIAL_PART  4

/*
 * The smallest probe, and the smallest room of a block that gives up a 2 MiB page for its probe.
 * In smaller blocks that page would be more than a sixteenth.
 */
#define PROBE_LEAST ((size_t)64 << 10)
#define PROBE_FROM  ((size_t)32 << 20)

/* Larger blocks are often sparse, and get no trial.  A room exceeds the request (coloring.h). */
#define TRIAL_MOST  ((size_t)513 << 19)

/* The claims are counted again at most this often. */
#define RECOUNT_NS  ((uint64_t)10000000)

/* A copy of all but one part in so many counts as one of the whole block. */
#define WHOLE_PART  8

_Atomic bool huge_device;

/* Under the lock heap. */
static size_t ram_seen, left_at_start, claimed;
static uint64_t next_recount;

void huge_set_device(bool is_there, size_t ram, size_t left)
{
	assert(hp_lock_held(HP_LOCK_heap));
	atomic_store(&huge_device, is_there);
	ram_seen = ram;
	left_at_start = left;
}

/* True if the site's block on trial, at `base`, is in use and was never copied. */
static bool is_on_trial(uint32_t site, uintptr_t base)
{
	const struct block *block = base != 0 ? map_at(base) : NULL;

	return block != NULL && block->state == BLOCK_LIVE && block->site == site && block->huge &&
	       block->copied_ns == 0;
}

/* True if the program has written all of the block on trial.  Then notes that its site is dense. */
static bool is_passed(uint32_t site, uintptr_t base)
{
	const struct block *block = map_at(base);
	if (block == NULL)
		return false;

	uintptr_t probe = atomic_load_explicit(&block->probe, memory_order_relaxed);
	uintptr_t start = atomic_load_explicit(&block->start, memory_order_relaxed);
	size_t size = atomic_load_explicit(&block->size, memory_order_relaxed);

	/*
	 * Checked again at the end, because pages of a block that was freed meanwhile say nothing.
	 */
	if (probe == 0 || start + size < probe + PROBE_LEAST ||
	    !resident_densely(probe, start + size) || resident_percent(start, size) != 100 ||
	    !is_on_trial(site, base))
		return false;
	site_note_dense(site, true);
	return true;
}

enum huge_verdict huge_decide_by_site(size_t room, uint32_t site, uintptr_t *ret_trial)
{
	switch (site_density(site, ret_trial)) {
	case SITE_DENSE:
		return HUGE_PROVEN;
	case SITE_UNKNOWN:
		if (is_on_trial(site, *ret_trial))
			return is_passed(site, *ret_trial) ? HUGE_PROVEN : HUGE_NOT;
		return room <= TRIAL_MOST ? HUGE_TRIAL : HUGE_NOT;
	case SITE_SPARSE:
		break;
	}
	return HUGE_NOT;
}

uintptr_t huge_end(struct block *block, enum huge_verdict verdict)
{
	uintptr_t end = block->base + block->room, whole = end & -HP_HUGE_PAGE_BYTES;

	if (verdict != HUGE_TRIAL)
		return end;
	if (block->start + block->size < whole + PROBE_LEAST) {
		if (block->room < PROBE_FROM)
			return end;
		whole -= HP_HUGE_PAGE_BYTES;
	}
	atomic_store_explicit(&block->probe, whole, memory_order_relaxed);
	return whole;
}

static size_t never_copied(void)
{
	size_t bytes = 0;

	for (struct block *at = span_first(); at != NULL; at = span_next(at))
		if (at->state >= BLOCK_LIVE && at->huge && at->copied_ns == 0)
			bytes += at->room;
	return bytes;
}

/* One block of the largest size may be on trial if the bound allows it. */
static size_t claim_most(enum huge_verdict verdict)
{
	size_t most = (left_at_start < ram_seen ? left_at_start : ram_seen) / CLAIM_PART;
	size_t on_trial = most / TRIAL_PART > TRIAL_MOST ? most / TRIAL_PART : TRIAL_MOST;

	return verdict == HUGE_TRIAL && on_trial < most ? on_trial : most;
}

static bool has_room(size_t room, enum huge_verdict verdict)
{
	uint64_t now = hp_now_coarse_ns();

	/*
	 * The sum only grows between counts, and some virtual machines get more memory while in
	 * use.
	 */
	if (claimed + room > claim_most(verdict) && now >= next_recount) {
		next_recount = now + RECOUNT_NS;
		claimed = never_copied();
		ram_seen = limits_ram();
	}
	return claimed + room <= claim_most(verdict);
}

bool huge_claim(size_t room, enum huge_verdict verdict)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (verdict == HUGE_NOT || !has_room(room, verdict))
		return false;
	claimed += room;
	return true;
}

bool huge_would_be_better(const struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	uintptr_t trial;

	return !block->huge && block_pin(block) == BLOCK_PAGEABLE && block->copied_ns != 0 &&
	       huge_decide(block->room, block->site, &trial) == HUGE_PROVEN &&
	       has_room(block->room, HUGE_PROVEN);
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

	unsigned percent = resident_percent(block->start, size);
	site_note_dense(block->site, !to_device || percent == 100);
	if (!to_device && percent == 0 && !block->huge)
		make_huge(block);
}
