/*
 * huge.c - 2 MiB pages by what the copies of a site's blocks have shown.
 *
 * A program cannot be asked how much of a block it will touch, and to be wrong about that may grow
 * it sixteenfold.  But whoever copies all of a block has written all of it, or is about to; and
 * what comes from the same place in the program will mostly be used alike.  So a site that nothing
 * is known of gets one such block on trial, and no more until that one is copied or freed, or is
 * seen to be written all over.  2 MiB pages do not show that: one word makes 512 pages there.  So
 * the upper end of a block on trial stays on small ones, its probe.
 */
#include "host/huge.h"
#include "base/kernel.h"
#include "base/lock.h"
#include "host/keep.h"
#include "host/limits.h"
#include "host/map.h"
#include "host/pages.h"
#include "host/site.h"
#include "host/span.h"
#include "host/touched.h"

#include <assert.h>

/* Of the memory there is, what blocks that were never copied may have so; on trial: of that. */
#define CLAIM_PART  16
#define TRIAL_PART  4

/*
 * The least that a probe shows, and the least room of which a 2 MiB page is made one where the end
 * of the block has too little in its last, broken 2 MiB: one part in sixteen of it faults often.
 */
#define PROBE_LEAST ((size_t)64 << 10)
#define PROBE_FROM  ((size_t)32 << 20)

/* Larger blocks are often sparse: not on trial.  A room is larger than was asked for: stagger.h. */
#define TRIAL_MOST  ((size_t)513 << 19)

/* How often what is claimed is counted anew, at most. */
#define RECOUNT_NS  ((uint64_t)10000000)

/* A copy of all but one part in so many is one of the whole block. */
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

static bool could_have(size_t room)
{
	return room >= HP_HUGE_PAGE_BYTES &&
	       atomic_load_explicit(&huge_device, memory_order_relaxed);
}

/* Is the block that the site got on trial, at `base`, in use, and was never copied? */
static bool is_on_trial(uint32_t site, uintptr_t base)
{
	const struct block *block = base != 0 ? map_at(base) : NULL;

	return block != NULL && block->state == BLOCK_LIVE && block->site == site && block->huge &&
	       block->copied_ns == 0;
}

/* Has the program written all of this block, which is on trial?  Then its site is known. */
static bool is_passed(uint32_t site, uintptr_t base)
{
	const struct block *block = map_at(base);
	if (block == NULL)
		return false;

	uintptr_t probe = atomic_load_explicit(&block->probe, memory_order_relaxed);
	uintptr_t start = atomic_load_explicit(&block->start, memory_order_relaxed);
	size_t size = atomic_load_explicit(&block->size, memory_order_relaxed);

	/* Asked once more: pages of what has been freed meanwhile say nothing. */
	if (probe == 0 || start + size < probe + PROBE_LEAST ||
	    !touched_densely(probe, start + size) || touched_percent(start, size) != 100 ||
	    !is_on_trial(site, base))
		return false;
	site_note_dense(site, true);
	return true;
}

enum huge_wish huge_ask(size_t room, uint32_t site, uintptr_t *ret_trial)
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

uintptr_t huge_end(struct block *block, enum huge_wish wish)
{
	uintptr_t end = block->base + block->room, whole = end & -HP_HUGE_PAGE_BYTES;

	if (wish != HUGE_TRIAL)
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

/* The largest block that may be on trial may be so alone wherever that is a sixteenth of all. */
static size_t claim_most(enum huge_wish wish)
{
	size_t most = (left_at_start < ram_seen ? left_at_start : ram_seen) / CLAIM_PART;
	size_t on_trial = most / TRIAL_PART > TRIAL_MOST ? most / TRIAL_PART : TRIAL_MOST;

	return wish == HUGE_TRIAL && on_trial < most ? on_trial : most;
}

static bool has_room(size_t room, enum huge_wish wish)
{
	uint64_t now = keep_now();

	/* Only ever added to, but for this; and some virtual machines grow while they are used. */
	if (claimed + room > claim_most(wish) && now >= next_recount) {
		next_recount = now + RECOUNT_NS;
		claimed = never_copied();
		ram_seen = limits_ram();
	}
	return claimed + room <= claim_most(wish);
}

bool huge_claim(size_t room, enum huge_wish wish)
{
	assert(hp_lock_held(HP_LOCK_heap));
	if (wish == HUGE_NOT || !has_room(room, wish))
		return false;
	claimed += room;
	return true;
}

bool huge_would_be_better(const struct block *block)
{
	assert(hp_lock_held(HP_LOCK_heap));
	uintptr_t trial;

	return !block->huge && block->pin == BLOCK_PAGEABLE && block->copied_ns != 0 &&
	       huge_wish(block->room, block->site, &trial) == HUGE_PROVEN &&
	       has_room(block->room, HUGE_PROVEN);
}

/* The program has it, so it stays what it is but for its pin. */
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

	if (!could_have(size) || bytes < size - size / WHOLE_PART ||
	    atomic_load_explicit(&block->copied_ns, memory_order_relaxed) != 0)
		return;

	unsigned percent = touched_percent(block->start, size);
	site_note_dense(block->site, !to_device || percent == 100);
	if (!to_device && percent == 0 && !block->huge)
		make_huge(block);
}
