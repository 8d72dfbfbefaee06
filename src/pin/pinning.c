/*
 * pinning.c - decides which copy pins its block, and registers the block: before the copy, in
 * segments while it runs, or in the background.
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

/* Begins to pin the block, whole or in segments. */
static bool pinning_begin(struct pin_pipeline *ret, struct block *block, uintptr_t context,
			  size_t counts, bool in_segments)
{
	if (!pin_reserve(block, in_segments ? registration_segment(block->room) : 0))
		return false;
	if (!is_resident(block)) {
		pin_give_back(block);
		return false;
	}
	*ret = (struct pin_pipeline){ .block = block, .context = context, .counts = counts };
	return true;
}

bool pin_pipeline_reach(struct pin_pipeline *pipeline, const void *address)
{
	struct block *block = pipeline->block;

	while (pipeline->refused == CUDA_SUCCESS &&
	       block->base + pipeline->done <= (uintptr_t)address) {
		size_t left = block->room - pipeline->done;
		size_t bytes = left < block->segment ? left : block->segment;
		uint64_t begun = hp_now_ns();

		pipeline->refused = registration_begin(block->base + pipeline->done, bytes);
		pipeline->ns += hp_now_ns() - begun;
		if (pipeline->refused == CUDA_SUCCESS)
			pipeline->done += bytes;
	}
	return pipeline->refused == CUDA_SUCCESS;
}

/*
 * The driver refuses the block, or a part of it: unregisters the other parts, which copies of other
 * threads may use.  Only a copy registers a block in parts.
 */
static void end_refused(struct block *block, const struct pin_pipeline *pipeline)
{
	bool alone = pipeline->done != 0 && hp_keeps(unpinned_between_copies);

	if (alone)
		pin_stop_copies(true);
	int error = registration_end_some(block, pipeline->done, pipeline->context);
	if (alone)
		pin_resume_copies();

	pin_refused(block, pipeline->refused, error);
	hp_count(pins_refused);
	hp_debug("%zu bytes at %p not pinned: CUDA error %d", block->room, (void *)block->base,
		 pipeline->refused);
}

static void count(struct block *block, size_t bytes)
{
	atomic_fetch_add_explicit(&block->copied_bytes, bytes, memory_order_relaxed);
}

bool pin_pipeline_end(struct pin_pipeline *pipeline)
{
	struct block *block = pipeline->block;
	bool pinned = pin_pipeline_reach(pipeline, (void *)(block->base + block->room - 1));

	pipeline->block = NULL;
	if (!pinned) {
		end_refused(block, pipeline);
		count(block, pipeline->counts);
		return false;
	}
	pin_begun(block, pipeline->context);
	hp_count(pins);
	pin_tell(block, true, pipeline->ns);
	return true;
}

bool pin_pipeline_whole(struct pin_pipeline *pipeline)
{
	pipeline->block->segment = pipeline->block->room;
	return pin_pipeline_end(pipeline);
}

/*
 * True if the copy may register the segments one after the other.  Another copy of the block must
 * not name registered and unregistered segments in one call, which the driver refuses.  A copy that
 * begins later sees BLOCK_PINNING and the segments; one that has begun is seen here.
 */
static bool may_pipeline(const struct block *block)
{
	return block->segment < block->room &&
	       ((pin_copies.inside == 1 && pin_copies.closed == 0) || !hp_keeps(pipelined_alone));
}

/*
 * True if the background thread pins the block.  A copy that is short compared with the pin does
 * not wait for it.
 */
static bool is_left_to_background(struct block *block, uintptr_t context)
{
	return block->room <= pin_room_left() && background_add(block, context);
}

bool pin_before_copy(struct block *block, bool to_device, size_t bytes,
		     struct pin_pipeline *ret_pipeline)
{
	int pin = atomic_load_explicit(&block->pin, memory_order_acquire);
	struct pin_pipeline own, *pipeline = ret_pipeline != NULL ? ret_pipeline : &own;
	uintptr_t context;

	huge_before_copy(block, to_device, bytes);
	bool first = atomic_load_explicit(&block->copied_ns, memory_order_relaxed) == 0;
	atomic_store_explicit(&block->copied_ns, hp_now_coarse_ns(), memory_order_relaxed);
	if (pin != BLOCK_PAGEABLE)
		return pin == BLOCK_PINNED;

	uint64_t counted = atomic_load_explicit(&block->copied_bytes, memory_order_relaxed);
	enum cost_verdict verdict =
		cost_decide(first, counted, bytes, cost_pays_from(block->room, block->huge));
	if (verdict == COST_STAY_PAGEABLE || !pin_allowed() || !registration_possible(&context) ||
	    (verdict == COST_PIN_IN_BACKGROUND && is_left_to_background(block, context)) ||
	    !pinning_begin(pipeline, block, context, bytes, ret_pipeline != NULL)) {
		count(block, bytes);
		return false;
	}
	return !may_pipeline(block) && pin_pipeline_whole(pipeline);
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
		struct pin_pipeline whole;

		if (pin_allowed() && is_worth_it(it.block) && registration_enter(it.context)) {
			if (pinning_begin(&whole, it.block, it.context, 0, false) &&
			    pin_pipeline_end(&whole))
				bytes += it.block->room;
			registration_leave();
		}
		background_done();
	}
	return bytes;
}
