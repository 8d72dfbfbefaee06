/*
 * policy.c - decides which copy pins its block: at once, in segments, or in the background.
 */
#include "pin/policy.h"
#include "base/clock.h"
#include "heap/huge_pages.h"
#include "pin/background.h"
#include "pin/cost.h"
#include "pin/pin.h"
#include "pin/registration.h"

bool pin_would_pipeline(const struct block *block)
{
	return atomic_load_explicit(&block->pin, memory_order_relaxed) == BLOCK_PAGEABLE &&
	       pin_allowed() && registration_segment(block->room) < block->room;
}

/*
 * True if the background thread pins the block.  A copy that is short compared with the pin does
 * not wait for it.
 */
static bool is_left_to_background(struct block *block, uintptr_t context)
{
	return background_possible() && block->room <= pin_room_left() &&
	       background_add(block, context);
}

bool pin_before_copy(struct block *block, bool to_device, size_t bytes,
		     struct pin_pipeline *ret_pipeline)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);
	bool pinned = pin == BLOCK_PINNED;
	uintptr_t context;

	huge_before_copy(block, to_device, bytes);
	atomic_store_explicit(&block->copied_ns, hp_now_coarse_ns(), memory_order_relaxed);
	if (pin != BLOCK_PAGEABLE || !pin_allowed())
		return pinned;

	uint64_t gain = cost_of_copy_ns(&cost_rates_here, to_device, bytes);
	uint64_t pin_cost = cost_of_pin_ns(&cost_rates_here, block->room, block->huge);
	uint64_t paid = atomic_load_explicit(&block->copy_cost_ns, memory_order_relaxed);
	enum cost_verdict verdict = cost_decide(paid, gain, pin_cost);
	if (verdict != COST_STAY_PAGEABLE && registration_possible(&context) &&
	    (verdict == COST_PIN || !is_left_to_background(block, context))) {
		pinned = ret_pipeline != NULL
				 ? pin_pipeline_begin(ret_pipeline, block, context, gain)
				 : pin_whole(block, context);
		if (pinned || (ret_pipeline != NULL && ret_pipeline->block != NULL))
			return pinned;
	}
	pin_add_copy_cost(block, gain);
	return false;
}

/* True if the block still pays.  It may have been unpinned, or replaced, since it was queued. */
static bool is_worth_it(const struct block *block)
{
	return atomic_load_explicit(&block->copy_cost_ns, memory_order_relaxed) >=
	       cost_of_pin_ns(&cost_rates_here, block->room, block->huge);
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
