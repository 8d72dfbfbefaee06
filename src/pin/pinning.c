/*
 * pinning.c - registers a block for a copy: before the copy, or in segments while it runs.
 */
#include "pin/pinning.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/protections.h"
#include "heap/pin_state.h"
#include "heap/resident.h"
#include "heap/site.h"
#include "pin/cost.h"
#include "pin/pin.h"
#include "pin/registration.h"
#include "pin/use.h"

/*
 * True if enough of the block is resident.  The result also updates the density of the allocation
 * site, for large blocks on 4 KiB pages.
 */
static bool is_resident(const struct block *block)
{
	if (block->huge || block->room < RESIDENT_WORTH_ASKING || !hp_keeps(sparse_unpinned))
		return true;

	unsigned percent = resident_percent(block->start, block->size);
	site_note_dense(block->site, percent == 100);
	return percent >= RESIDENT_LEAST;
}

/* Leaves the block pageable, because a pin would make untouched pages resident. */
static void leave_sparse(struct block *block)
{
	block->copy_cost_ns = 0;
	pin_give_back(block);
}

static bool pinning_begin(struct pin_pipeline *ret, struct block *block, uintptr_t context,
			  size_t segment)
{
	if (!pin_reserve(block, segment))
		return false;
	if (!is_resident(block)) {
		leave_sparse(block);
		return false;
	}
	*ret = (struct pin_pipeline){ .block = block, .context = context };
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

/* The driver refuses the block, or a part of it: unregisters the other parts. */
static void end_refused(struct pin_pipeline *pipeline)
{
	struct block *block = pipeline->block;
	int error = registration_end_some(block, pipeline->done, pipeline->context);

	hp_lock(HP_LOCK_pin);
	bool enough = pin_note_refusal(block, pipeline->refused, error);
	hp_unlock(HP_LOCK_pin);
	hp_count(pins_refused);
	hp_debug("%zu bytes at %p not pinned: CUDA error %d", block->room, (void *)block->base,
		 pipeline->refused);
	if (enough)
		pin_stop("the driver refused too often");
}

bool pin_pipeline_end(struct pin_pipeline *pipeline)
{
	struct block *block = pipeline->block;

	if (!pin_pipeline_reach(pipeline, (void *)(block->base + block->room - 1))) {
		end_refused(pipeline);
		pin_add_copy_cost(block, pipeline->gain);
		return false;
	}
	hp_lock(HP_LOCK_pin);
	pin_note_success();
	block->pin_owner = pipeline->context;
	block->copy_cost_ns = 0;
	heap_set_pin(block, BLOCK_PINNED);
	hp_unlock(HP_LOCK_pin);
	hp_count(pins);
	cost_learn_pin(block->huge, block->room, pipeline->ns);
	pin_tell(block, true, pipeline->ns);
	return true;
}

bool pin_whole(struct block *block, uintptr_t context)
{
	struct pin_pipeline whole;

	return pinning_begin(&whole, block, context, 0) && pin_pipeline_end(&whole);
}

void pin_add_copy_cost(struct block *block, uint64_t gain)
{
	atomic_fetch_add_explicit(&block->copy_cost_ns, gain, memory_order_relaxed);
}

/*
 * Begins pipelined registration by this thread.  Another copy of the block must not name
 * registered and unregistered segments in one call, which the driver refuses.  A copy that begins
 * later sees BLOCK_PINNING and the segments; one that has begun is seen here.
 */
bool pin_pipeline_begin(struct pin_pipeline *ret, struct block *block, uintptr_t context,
			uint64_t gain)
{
	if (!pinning_begin(ret, block, context, registration_segment(block->room)))
		return false;
	if (!pin_is_only_user() && hp_keeps(pipelined_alone))
		block->segment = block->room;
	if (block->segment < block->room) {
		ret->gain = gain;
		return false;
	}
	bool pinned = pin_pipeline_end(ret);
	ret->block = NULL;
	return pinned;
}
