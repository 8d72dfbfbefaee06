/*
 * pinning.c - decides which copy pins its block, and registers the block: before the copy, or in
 * the background.
 */
#include "pin/pinning.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/huge_pages.h"
#include "heap/resident.h"
#include "pin/background.h"
#include "pin/cost.h"
#include "pin/pin.h"
#include "pin/registration.h"

/* True if enough of the block is resident: a pin makes untouched pages resident. */
static bool is_resident(const struct block *block)
{
	return block->huge || block->room < RESIDENT_WORTH_ASKING || !hp_keeps(sparse_unpinned) ||
	       resident_percent(block->start, block->size) >= RESIDENT_LEAST;
}

/* Registers the block with `context` current.  False: not now, or the driver refuses. */
static bool pin_whole(struct block *block, uintptr_t context)
{
	if (!pin_reserve(block))
		return false;
	if (!is_resident(block)) {
		pin_give_back(block);
		return false;
	}
	uint64_t begun = hp_now_ns();
	CUresult refused = registration_begin(block->base, block->room);

	if (refused != CUDA_SUCCESS) {
		pin_refused(block, refused);
		hp_count(pins_refused);
		hp_debug("%zu bytes at %p not pinned: CUDA error %d", block->room,
			 (void *)block->base, (int)refused);
		return false;
	}
	pin_begun(block, context);
	hp_count(pins);
	pin_tell(block, true, hp_now_ns() - begun);
	return true;
}

/*
 * True if the background thread pins the block.  A copy that is short compared with the pin does
 * not wait for it.
 */
static bool is_left_to_background(struct block *block, uintptr_t context)
{
	return block->room <= pin_room_left() && background_add(block, context);
}

bool pin_before_copy(struct block *block, bool to_device, size_t bytes)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);
	uintptr_t context;

	huge_before_copy(block, to_device, bytes);
	bool first = atomic_load_explicit(&block->copied_ns, memory_order_relaxed) == 0;
	atomic_store_explicit(&block->copied_ns, hp_now_coarse_ns(), memory_order_relaxed);
	if (pin != BLOCK_PAGEABLE)
		return pin == BLOCK_PINNED;

	uint64_t counted = atomic_load_explicit(&block->copied_bytes, memory_order_relaxed);
	enum cost_verdict verdict =
		cost_decide(first, counted, bytes, cost_pays_from(block->room, block->huge));
	if (verdict != COST_STAY_PAGEABLE && pin_allowed() && registration_possible(&context) &&
	    !(verdict == COST_PIN_IN_BACKGROUND && is_left_to_background(block, context)) &&
	    pin_whole(block, context))
		return true;
	atomic_fetch_add_explicit(&block->copied_bytes, bytes, memory_order_relaxed);
	return false;
}

/* True if the block still pays.  It may have been unpinned, or replaced, since it was queued. */
static bool is_worth_it(const struct block *block)
{
	return atomic_load_explicit(&block->copied_bytes, memory_order_relaxed) >=
	       cost_pays_from(block->room, block->huge);
}

/* A block that cannot be pinned now leaves the queue; its next copy queues it again. */
size_t pin_in_background(size_t bytes_most)
{
	struct background_entry it;
	size_t bytes = 0;

	while (bytes < bytes_most && background_next(&it)) {
		if (pin_allowed() && is_worth_it(it.block) && registration_enter(it.context)) {
			if (pin_whole(it.block, it.context))
				bytes += it.block->room;
			registration_leave();
		}
		background_done();
	}
	return bytes;
}
