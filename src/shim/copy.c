/*
 * copy.c - one copy from the wrapper's call to its return code.
 *
 * The copy runs as the program asked for it; what is ours is where its host side lies.  To the
 * program a promoted block is pageable, so what comes back early from pinned memory is waited for.
 */
#include "shim/copy.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/protections.h"
#include "copy/move.h"
#include "copy/stage.h"
#include "host/heap.h"
#include "host/pin.h"
#include "host/range.h"
#include "real/relaxed.h"
#include "shim/bouncing.h"
#include "shim/choosing.h"
#include "shim/deferring.h"
#include "shim/telling.h"

_Atomic int shim_captures;

_Atomic bool shim_copies_pass;

_Atomic bool shim_unordered_streams;

bool shim_stream_captures(CUstream stream, bool per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result = per_thread ? REAL(cuStreamIsCapturing_ptsz)(stream, &status)
				     : REAL(cuStreamIsCapturing)(stream, &status);

	hp_count(asked_capture);
	return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult call_relaxed(CUresult (*call)(CUstream), CUstream stream)
{
	struct relaxed relaxed = relaxed_begin();
	CUresult result = call(stream);

	relaxed_end(&relaxed);
	return result;
}

bool shim_copy_behind_work(const struct shim_copy *copy)
{
	hp_count(asked_stream);
	return call_relaxed(copy->per_thread ? REAL(cuStreamQuery_ptsz) : REAL(cuStreamQuery),
			    copy->stream) == CUDA_ERROR_NOT_READY;
}

static CUresult synchronize_context(CUstream stream)
{
	(void)stream;
	return REAL(cuCtxSynchronize)();
}

CUresult shim_stream_wait(CUstream stream, bool per_thread)
{
	hp_count(copies_waited);
	CUresult result = call_relaxed(
		per_thread ? REAL(cuStreamSynchronize_ptsz) : REAL(cuStreamSynchronize), stream);
	/* The program relies on this wait, and did not ask for it: all streams are waited for then.
	 */
	return result == CUDA_SUCCESS ? result : call_relaxed(synchronize_context, NULL);
}

void shim_unpin(const void *address, size_t bytes)
{
	if (!shim_active() || !pin_covers_any(address, bytes))
		return;
	pin_before_foreign(address, bytes);
	pin_after_foreign(address, bytes, false);
}

bool shim_refuse(CUdeviceptr address)
{
	if (!shim_active())
		return false;
	hp_uncancellable_begin();
	pin_before_foreign((const void *)address, 1);
	return true;
}

void shim_refused(CUdeviceptr address)
{
	pin_after_foreign((const void *)address, 1, false);
	hp_uncancellable_end();
}

static bool on_device(CUdeviceptr address)
{
	CUmemorytype type = 0;

	hp_count(asked_pointer);
	return REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
		       CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

/*
 * Does all that came before it end with a synchronous copy to the host?  Where the device's memory
 * is called the host's the driver goes by the address, and waits for nothing.  What the processor
 * can read is not the device's; to ask the driver about memory that it does not know takes 2 us.
 */
static bool ends_what_was_before(const struct shim_copy *copy)
{
	return copy->direction == TRACE_D2H && !copy->asynchronous &&
	       (copy->block != NULL || copy->bytes == 0 || move_can_read(copy->host) ||
		!hp_keeps(device_called_host) || !on_device((CUdeviceptr)copy->host));
}

/* Notes the lane, and whether it is this thread's own upload that it follows. */
static void see_what_it_waits_for(struct shim_copy *copy)
{
	copy->lane = shim_defer_seen(copy->per_thread, &copy->lane_word);
	if (copy->lane != NULL && shim_upload_is_last())
		shim_upload_followed();
}

void shim_copy_begin(struct shim_copy *copy)
{
	copy->from = copy->host;
	copy->route = COPY_PASS;
	if (copy->far == 0 && copy->host != NULL)
		copy->far = copy->device[0];
	if (!shim_active())
		return;
	/* Of this stream or not: asking would cost more than waiting. */
	if (atomic_load(&shim_captures) != 0 && copy->asynchronous && copy->device[1] == 0)
		exposure_raise(REAL_SEEN_GRAPH);
	for (size_t i = 0; i < HP_LEN(copy->device); i++)
		if (shim_refuse_promoted(copy->device[i]))
			copy->refused[i] = copy->device[i];
	if (copy->host != NULL && copy->bytes != 0)
		shim_choose(copy);
	if (ledger_any() && ends_what_was_before(copy))
		see_what_it_waits_for(copy);
	/* Two looks at the clock are half of what a small copy pays for us. */
	if (copy->block != NULL && copy->bytes >= PIN_LEARNS_FROM)
		copy->enter_ns = hp_now_ns();
}

/* Bytes from `at` on, `most` at the most, up to the end of the pinned block it lies in. */
static size_t piece_at(const char *at, size_t most)
{
	const struct block *block = range_find(at);
	int pin = block != NULL ? atomic_load(&block->pin) : BLOCK_PAGEABLE;

	if (pin != BLOCK_PINNED && pin != BLOCK_PINNING)
		return most;
	size_t run = range_run(block, at);
	return run < most ? run : most;
}

/* Is the other side as long as the copy, as far as anybody can tell? */
static bool fits(const struct shim_copy *copy)
{
	if (copy->far != 0) {
		struct stage_copy stage = shim_stage_describe(copy);

		return stage_fits(&stage);
	}
	size_t row = copy->array != NULL ? shim_array_row(copy->array) : 0;

	return row == 0 || (copy->array_at <= row && copy->bytes <= row - copy->array_at);
}

/* To the profile the pieces are one copy. */
static void note_cut(struct shim_copy *copy)
{
	if (copy->cut || copy->done != 0)
		return;
	copy->cut = true;
	copy->ticket = trace_cutting(copy->direction, copy->bytes);
}

/* The next part, up to a border of what is pinned. */
static void cut(struct shim_copy *copy)
{
	size_t rest = copy->now;

	copy->now = piece_at(copy->from, rest);
	if (copy->other != NULL)
		copy->now = piece_at((const char *)copy->other + copy->done, copy->now);
	if (copy->now == rest || copy->done != 0 || !hp_keeps(refused_whole) || fits(copy))
		return;
	/* The driver refuses it as a whole; of the parts it would take the first. */
	shim_unpin(copy->host, shim_copy_extent(copy));
	copy->place = COPY_PAGEABLE;
	copy->route = COPY_PASS;
	copy->now = rest;
}

/*
 * Does the call that the driver refused leave a registration of ours?  Another thread may have
 * pinned a block since the route was chosen.
 */
static bool leaves_a_registration(const struct shim_copy *copy)
{
	if (copy->place == COPY_STRADDLES)
		return true;
	if (copy->rows)
		return copy->route != COPY_BOUNCE &&
		       pin_crosses(copy->host, shim_copy_extent(copy));
	return pin_crosses(copy->from, copy->now) ||
	       (copy->other != NULL &&
		pin_crosses((const char *)copy->other + copy->done, copy->now));
}

/* The driver refused a range that touches what we pinned: it gets it unpinned, once. */
static bool try_unpinned(struct shim_copy *copy)
{
	if (copy->result != CUDA_ERROR_INVALID_VALUE || copy->retried || copy->captured ||
	    copy->host == NULL || !leaves_a_registration(copy) || !hp_keeps(refused_unpinned))
		return false;
	copy->retried = true;
	shim_unpin(copy->host, shim_copy_extent(copy));
	if (copy->other != NULL)
		shim_unpin(copy->other, copy->bytes);
	copy->route = COPY_PASS;
	return true;
}

/*
 * What the ring had no room for is left to the driver's function, which does rows anew.  Behind
 * work that is not to wait: what the driver takes in at once it gets from a pageable copy.
 */
static void choose_for_the_rest(struct shim_copy *copy)
{
	bool fits = !copy->rows || (copy->done == 0 && shim_copy_extent(copy) <= COPY_BLOCKS_FROM);

	if (copy->asynchronous && copy->direction == TRACE_H2D && copy->place >= COPY_PINNED &&
	    copy->bytes < COPY_BLOCKS_FROM && fits && hp_keeps(rest_bounced) &&
	    shim_copy_held_up(copy))
		copy->route = COPY_BOUNCE;
	else
		shim_fall_back(copy);
}

static void run_staged(struct shim_copy *copy)
{
	copy->staged = true;
	shim_wait_for_writers(copy);
	uint64_t ticket = trace_staging(copy->direction, copy->bytes);
	copy->done = shim_stage_run(copy, &copy->under_way);
	if (copy->under_way && copy->lane != NULL)
		shim_defer_add(copy->lane, copy->per_thread);
	trace_staged(ticket, copy->done, copy->under_way);
	if (copy->done != copy->bytes)
		choose_for_the_rest(copy);
}

/*
 * Enqueued from pageable memory, which the driver takes in before it returns.  What it refuses it
 * is asked again, by the program's own call, so that the program gets that call's answer.
 */
static void run_deferred(struct shim_copy *copy)
{
	struct stage_copy stage = shim_stage_describe(copy);
	CUresult result = CUDA_ERROR_UNKNOWN;

	copy->now = copy->bytes;
	if (copy->place >= COPY_PINNED && hp_keeps(deferred_source))
		shim_bounce(copy);
	if (copy->route == COPY_DEFER && shim_stage_enter()) {
		result = stage_enqueue(&stage, 0, (void *)copy->from, copy->bytes);
		if (result == CUDA_SUCCESS)
			shim_defer_add(copy->lane, copy->per_thread);
	}
	if (copy->route == COPY_DEFER)
		shim_stage_leave();
	shim_bounce_end(copy, result == CUDA_SUCCESS);
	copy->now = 0;
	if (result == CUDA_SUCCESS || !hp_keeps(deferred_refusals))
		copy->done = copy->bytes;
	else
		shim_fall_back(copy);
}

bool shim_copy_next(struct shim_copy *copy)
{
	if (copy->now != 0 && copy->result != CUDA_SUCCESS)
		return try_unpinned(copy);
	if (copy->now == 0 && copy->bytes == 0 && !copy->retried) {
		copy->retried = true; /* an empty copy runs once, for its return code */
		return true;
	}
	if (copy->route == COPY_SEND && copy->now == 0) {
		note_cut(copy);
		shim_send(copy);
	}
	copy->done += copy->now;
	if (copy->route == COPY_STAGE || copy->route == COPY_EARLY)
		run_staged(copy);
	if (copy->route == COPY_DEFER)
		run_deferred(copy);
	copy->now = copy->bytes - copy->done;
	if (copy->now == 0)
		return false;
	copy->from = copy->host != NULL ? (const char *)copy->host + copy->done : NULL;
	if (copy->route == COPY_BOUNCE)
		shim_bounce(copy);
	/* Without memory to bounce from it has fallen back to this one. */
	if (copy->route == COPY_SPLIT) {
		note_cut(copy);
		cut(copy);
	}
	return true;
}

/* The data of a copy into pageable memory is there on return, so its error is this call's. */
static void keep_promise(struct shim_copy *copy)
{
	CUresult result = shim_stream_wait(copy->stream, copy->per_thread);

	if (copy->direction != TRACE_H2D)
		copy->result = result;
}

/*
 * Does the program rely on a wait that the driver's call did not do?  Also where another thread
 * pinned the block while the call ran.
 */
static bool needs_wait(const struct shim_copy *copy)
{
	bool early = copy->asynchronous || (copy->route == COPY_DEFER && copy->place < COPY_PINNED);

	if (!early || !hp_keeps(promoted_waits) || copy->captured || copy->block == NULL ||
	    copy->route == COPY_BOUNCE || copy->route == COPY_STAGE)
		return false;
	if (copy->route != COPY_PASS && copy->route != COPY_DEFER)
		return true;
	int pin = atomic_load(&copy->block->pin);
	return (pin == BLOCK_PINNING || pin == BLOCK_PINNED) && hp_keeps(promoted_meanwhile);
}

CUresult shim_copy_end(struct shim_copy *copy)
{
	bool active = shim_active();

	for (size_t i = 0; i < HP_LEN(copy->refused); i++)
		if (copy->refused[i] != 0)
			shim_refused(copy->refused[i]);
	if (active)
		shim_bounce_end(copy, copy->result == CUDA_SUCCESS);
	if (active && copy->result == CUDA_SUCCESS && copy->bytes != 0 && needs_wait(copy))
		keep_promise(copy);
	/* What is on its way still must not find the program done with its memory. */
	if (active && copy->result != CUDA_SUCCESS && copy->done != 0 && hp_keeps(failed_waits))
		shim_stream_wait(copy->stream, copy->per_thread);
	if (copy->cut)
		trace_staged(copy->ticket, copy->bytes, false);
	if (copy->taken_in)
		atomic_fetch_sub(&copy->block->taken_in, 1);
	if (copy->in_use)
		pin_use_end();
	if (!active)
		return copy->result;
	if (copy->block != NULL)
		shim_copied();

	/* An empty copy waits for nothing. */
	bool moved = copy->result == CUDA_SUCCESS && copy->bytes != 0;
	if (moved && copy->lane != NULL && copy->direction == TRACE_D2H)
		ledger_over(copy->lane, hp_keeps(forget_what_was_seen)
						? copy->lane_word
						: atomic_load(&copy->lane->word));
	shim_copy_tell(copy, moved);
	if (moved && copy->direction == TRACE_D2H && !copy->asynchronous)
		shim_copy_showed_idle(copy->per_thread);
	return copy->result;
}

void shim_copy_between(struct shim_copy *copy, CUdeviceptr dst, CUdeviceptr src)
{
	const void *from = (const void *)src, *to = (const void *)dst;
	bool from_ours = range_find(from) != NULL, to_ours = range_find(to) != NULL;

	/* Then it is worth knowing whether it can be staged, or come back early. */
	bool is_large = shim_active() && copy->bytes >= COPY_ASK_DIRECTION;
	bool is_small = shim_active() && !copy->asynchronous && copy->bytes <= COPY_DEFER_MOST &&
			hp_options->async && !exposure_any();

	if (trace_active() || is_small || (is_large && !from_ours && !to_ours)) {
		static const enum trace_direction directions[2][2] = { { TRACE_H2H, TRACE_H2D },
								       { TRACE_D2H, TRACE_D2D } };

		copy->direction =
			directions[!from_ours && on_device(src)][!to_ours && on_device(dst)];
	} else {
		copy->direction = from_ours && to_ours ? TRACE_H2H
				  : from_ours          ? TRACE_H2D
				  : to_ours            ? TRACE_D2H
						       : TRACE_D2D;
	}
	if (copy->direction == TRACE_H2D) {
		copy->host = from;
		copy->far = dst;
	} else if (copy->direction == TRACE_D2H) {
		copy->host = to;
		copy->far = src;
	}
	if (from_ours && to_ours)
		copy->other = to;
	if (from_ours)
		copy->host = from;
	else if (to_ours)
		copy->host = to;
}
