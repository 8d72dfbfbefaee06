/*
 * batch.c - unpins, waits and reports for the copies of one call.
 */
#include "engine/batch.h"
#include "base/clock.h"
#include "base/protections.h"
#include "engine/request.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "engine/unpin.h"
#include "engine/visibility.h"
#include "heap/map.h"
#include "pin/use.h"
#include "trace/trace.h"

struct batch batch_begin(CUstream stream, bool per_thread, const void *frame)
{
	if (atomic_load(&state_captures) != 0)
		visibility_raise(REAL_SEEN_GRAPH);
	struct batch batch = {
		.per_thread = per_thread,
		.captured = state_active && atomic_load(&state_captures) > 0 &&
			    stream_is_captured(stream, per_thread),
		.stream = stream,
		.frame = frame,
		.enter_ns = trace_active() ? hp_now_ns() : 0,
	};

	pin_give_back(frame);
	return batch;
}

/*
 * True if the side must not name the block while it is pinned.  The driver refuses a range that
 * starts in a registration and ends outside it; without hotpin it would not.
 */
static bool must_unpin(const struct batch *batch, const struct block *block, const void *address,
		       size_t extent)
{
	return batch->captured ? hp_keeps(captured_unpinned)
			       : !range_covers(block, address, extent) && hp_keeps(batch_crossing);
}

void batch_enter_side(struct batch *batch, const void *address, size_t extent)
{
	if (batch->outside != NULL || !heap_touches(address, extent))
		return;
	for (struct block *block = NULL; (block = range_next(block, address, extent)) != NULL;) {
		enum pin_use use = pin_enter(block, batch->frame);

		batch->unpins = use == PIN_PINNED && !batch->refused &&
				must_unpin(batch, block, address, extent);
		if (use == PIN_TAKEN || batch->unpins) {
			batch->outside = block;
			return;
		}
		batch->pinned |= use == PIN_PINNED;
	}
}

bool batch_enters_again(struct batch *batch)
{
	struct block *block = batch->outside;

	if (block == NULL)
		return false;
	pin_leave(batch->frame);
	if (batch->unpins) {
		if (!batch->held)
			unpin_hold();
		batch->held = true;
		unpin_range((const void *)block->base, 1);
		batch->refused = block_pin(block) == BLOCK_PINNED;
	} else {
		pin_wait(block);
	}
	batch->outside = NULL;
	batch->pinned = false;
	return true;
}

void batch_report_begin(struct batch *batch, size_t count)
{
	batch->each_ns = (hp_now_ns() - batch->enter_ns) / count;
}

void batch_report_copy(struct batch *batch, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	struct copy_request copy = { .bytes = bytes };

	/* An array has address 0 here. */
	request_between(&copy, dst != 0 ? dst : src, src != 0 ? src : dst);
	if (copy.direction == TRACE_H2H && (dst == 0 || src == 0))
		copy.direction = dst != 0 ? TRACE_D2H : src != 0 ? TRACE_H2D : TRACE_D2D;
	const struct block *block = range_find(copy.host);
	trace_copied(&(struct trace_copy){
		.direction = copy.direction,
		.memory = block != NULL && block_may_be_pinned(block) ? TRACE_PROMOTED
								      : TRACE_UNKNOWN,
		.host = copy.host,
		.allocator = block != NULL ? atomic_load(&block->site) : 0,
		.block_bytes = block != NULL ? atomic_load(&block->size) : 0,
		.in_graph = batch->captured,
		.bytes = bytes,
		.enter_ns = batch->enter_ns,
		.leave_ns = batch->enter_ns + batch->each_ns,
		.frame = batch->frame,
	});
	batch->enter_ns += batch->each_ns;
}

/* The driver refuses batches on the legacy stream. */
static bool has_work(const struct batch *batch)
{
	return batch->stream != NULL && batch->stream != CU_STREAM_LEGACY &&
	       (stream_is_busy(batch->stream, batch->per_thread) ||
		stream_is_behind_legacy(batch->stream, batch->per_thread));
}

CUresult batch_end(const struct batch *batch, CUresult result)
{
	if (batch->pinned && result == CUDA_SUCCESS && hp_keeps(batch_waits))
		result = stream_wait(batch->stream, batch->per_thread);
	/* Copies before the refused one may be in flight. */
	if (batch->pinned && result != CUDA_SUCCESS && hp_keeps(failed_batch_waits) &&
	    has_work(batch))
		stream_wait(batch->stream, batch->per_thread);
	pin_leave(batch->frame);
	if (batch->held)
		unpin_release();
	return result;
}
