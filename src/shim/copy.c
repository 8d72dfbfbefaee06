/*
 * copy.c - one copy from the wrapper's call to its return code.
 *
 * The copy runs as the program asked for it; what is ours is where its host side lies.  To the
 * program a promoted block is pageable, so what comes back early from pinned memory is waited for.
 */
#include "shim/copy.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/counters.h"
#include "host/heap.h"
#include "host/pin.h"
#include "host/range.h"

#include <string.h>

_Atomic int shim_captures;

_Atomic bool shim_unordered_streams;

bool shim_stream_captures(CUstream stream, bool per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUresult result = per_thread ? REAL(cuStreamIsCapturing_ptsz)(stream, &status)
				     : REAL(cuStreamIsCapturing)(stream, &status);

	return result != CUDA_SUCCESS || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static enum copy_place place_of(const struct shim_copy *copy, bool pinned)
{
	size_t extent = copy->extent != 0 ? copy->extent : copy->bytes;

	if (copy->block != NULL && range_covers(copy->block, copy->host, extent))
		return pinned ? COPY_PINNED : COPY_PAGEABLE;
	if (pinned || pin_covers_any(copy->host, extent))
		return COPY_STRADDLES;
	return copy->block != NULL ? COPY_PAGEABLE : COPY_ELSEWHERE;
}

static void make_plan(struct shim_copy *copy)
{
	bool to_device = copy->direction == TRACE_H2D;
	bool pinned = copy->block != NULL && pin_before_copy(copy->block, to_device, copy->bytes);

	copy->place = place_of(copy, pinned);
	if (copy->place == COPY_ELSEWHERE || copy->place == COPY_PAGEABLE)
		return;
	if (atomic_load(&shim_captures) > 0)
		copy->captured = shim_stream_captures(copy->stream, copy->per_thread);
	copy->route = copy_plan(&(struct copy_facts){
		.place = copy->place,
		.to_device = to_device,
		.linear = !copy->rows,
		.asynchronous = copy->asynchronous,
		.captured = copy->captured,
		.bytes = copy->bytes,
	});
}

void shim_copy_begin(struct shim_copy *copy, enum real_row row)
{
	shim_enter(row);
	copy->from = copy->host;
	if (shim_active()) {
		if (copy->host != NULL && copy->bytes != 0) {
			copy->block = range_find(copy->host);
			/* The range may begin outside and run into a block. */
			if (copy->block != NULL ||
			    heap_owns((const char *)copy->host + copy->bytes - 1))
				make_plan(copy);
		}
		if (copy->block != NULL || trace_active())
			copy->enter_ns = hp_now_ns();
	}
}

/* Bytes from `at` on, `most` at the most, that are on one side of a border of what we pinned. */
static size_t piece_at(const char *at, size_t most)
{
	struct block *block = range_find(at);
	size_t length = 0;

	if (block != NULL && atomic_load(&block->pin) == BLOCK_PINNED) {
		length = block->base + block->room - (uintptr_t)at;
		return length < most ? length : most;
	}
	while (length < most && !pin_covers_any(at + length, 1)) {
		size_t page = 4096 - ((uintptr_t)(at + length) & 4095);

		block = range_find(at + length);
		length +=
			block != NULL ? block->base + block->room - (uintptr_t)(at + length) : page;
	}
	return length < most ? length : most;
}

/* Pageable memory: the driver stages it inside the call.  Where there is none, it is waited for. */
static void bounce(struct shim_copy *copy)
{
	copy->bounce = hp_arena_alloc(copy->now);
	if (copy->bounce == NULL) {
		copy->route = COPY_WAIT;
		return;
	}
	memcpy(copy->bounce, copy->from, copy->now);
	copy->from = copy->bounce;
}

/* The driver refused a range that touches what we pinned: it gets it unpinned, once. */
static bool try_unpinned(struct shim_copy *copy)
{
	size_t extent = copy->extent != 0 ? copy->extent : copy->bytes;

	if (copy->result != CUDA_ERROR_INVALID_VALUE || copy->retried || copy->captured ||
	    copy->place != COPY_STRADDLES)
		return false;
	copy->retried = true;
	pin_before_foreign(copy->host, extent);
	pin_after_foreign(copy->host, extent, false);
	copy->route = COPY_PASS;
	return true;
}

bool shim_copy_next(struct shim_copy *copy)
{
	if (copy->now != 0 && copy->result != CUDA_SUCCESS)
		return try_unpinned(copy);
	if (copy->now == 0 && copy->bytes == 0 && !copy->retried) {
		copy->retried = true; /* an empty copy runs once, for its return code */
		return true;
	}
	copy->done += copy->now;
	copy->now = copy->bytes - copy->done;
	if (copy->now == 0)
		return false;
	copy->from = copy->host != NULL ? (const char *)copy->host + copy->done : NULL;
	if (copy->route == COPY_SPLIT)
		copy->now = piece_at(copy->from, copy->now);
	if (copy->route == COPY_BOUNCE)
		bounce(copy);
	return true;
}

static void count_route(enum copy_route route)
{
	switch (route) {
	case COPY_DIRECT:
		hp_count(copies_direct);
		break;
	case COPY_WAIT:
		hp_count(copies_direct);
		hp_count(copies_waited);
		break;
	case COPY_BOUNCE:
		hp_count(copies_bounced);
		break;
	case COPY_SPLIT:
		hp_count(copies_split);
		break;
	default:
		hp_count(copies_passed);
		break;
	}
}

/* The data of a copy into pageable memory is there on return, so its error is this call's. */
static void keep_promise(struct shim_copy *copy)
{
	CUresult result = copy->per_thread ? REAL(cuStreamSynchronize_ptsz)(copy->stream)
					   : REAL(cuStreamSynchronize)(copy->stream);

	if (copy->direction != TRACE_H2D)
		copy->result = result;
}

static enum trace_memory memory_of(const struct shim_copy *copy)
{
	if (copy->direction == TRACE_D2D || copy->direction == TRACE_P2P)
		return TRACE_DEVICE;
	switch (copy->place) {
	case COPY_PINNED:
		return copy->route == COPY_BOUNCE ? TRACE_PAGEABLE : TRACE_PROMOTED;
	case COPY_PAGEABLE:
	case COPY_STRADDLES:
		return TRACE_PAGEABLE;
	default:
		return TRACE_UNKNOWN;
	}
}

static void report(const struct shim_copy *copy, uint64_t leave_ns)
{
	trace_copied(&(struct trace_copy){
		.direction = copy->direction,
		.memory = memory_of(copy),
		.synchronous = !copy->asynchronous,
		.captured = copy->captured,
		.bytes = copy->bytes,
		.enter_ns = copy->enter_ns,
		.leave_ns = leave_ns,
	});
}

CUresult shim_copy_end(struct shim_copy *copy)
{
	/* Read after the pieces have run: a bounce without memory turns into a wait. */
	bool waits = copy->route == COPY_WAIT || (copy->route == COPY_SPLIT && copy->asynchronous);

	if (!shim_active())
		return copy->result;
	hp_arena_free(copy->bounce, copy->bytes);
	if (waits && copy->result == CUDA_SUCCESS)
		keep_promise(copy);
	count_route(copy->route);

	bool moved = copy->result == CUDA_SUCCESS && copy->bytes != 0;
	if (moved && copy->enter_ns != 0) {
		uint64_t leave_ns = hp_now_ns();

		if (copy->block != NULL && !copy->captured)
			pin_after_copy(copy->block, copy->direction == TRACE_H2D, copy->bytes,
				       copy->route == COPY_DIRECT || copy->route == COPY_WAIT,
				       leave_ns - copy->enter_ns);
		if (trace_active())
			report(copy, leave_ns);
	}
	/* A synchronous D2H on the legacy stream ends after all work but that of unordered streams.
	 */
	if (moved && copy->direction == TRACE_D2H && !copy->asynchronous && !copy->per_thread &&
	    !atomic_load_explicit(&shim_unordered_streams, memory_order_relaxed))
		shim_device_quiet();
	return copy->result;
}

static bool on_device(CUdeviceptr address)
{
	CUmemorytype type = 0;

	return REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
		       CUDA_SUCCESS &&
	       type == CU_MEMORYTYPE_DEVICE;
}

void shim_copy_between(struct shim_copy *copy, CUdeviceptr dst, CUdeviceptr src)
{
	const void *from = (const void *)src, *to = (const void *)dst;
	bool from_ours = range_find(from) != NULL, to_ours = range_find(to) != NULL;

	if (trace_active()) {
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
	if (from_ours)
		copy->host = from;
	else if (to_ours)
		copy->host = to;
}
