/*
 * route.c - the routes, and the waits that they add to the program's call: to the program a pinned
 * block is pageable.
 */
#include "engine/route.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/staging.h"
#include "engine/stream.h"
#include "engine/unpin.h"
#include "pin/use.h"
#include "trace/trace.h"

#include <string.h>

/*
 * Waits for the stream, after a call that may return before its transfer has completed.  A download
 * into pageable memory is complete on return, so this call returns its error.
 */
void route_direct_finish(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (!hp_keeps(pinned_copy_waits))
		return;
	CUresult result = stream_wait(request->stream, request->per_thread);
	if (request->direction != TRACE_H2D)
		copy->result = result;
}

bool route_unpin(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (copy->facts.values[COPY_IS_CAPTURED] && !hp_keeps(captured_unpinned))
		return true;
	pin_leave(request->frame);
	unpin_hold();
	copy->holds++;
	unpin_range(request->host, request->extent);
	if (request->other != NULL)
		unpin_range(request->other, request->other_extent);
	return true;
}

/*
 * A copy through pinned staging memory: the driver gets no address in the block.  The fallback
 * moves the rest if too few units are free.
 */
bool route_stage(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	copy->staged = true;
	pin_leave(request->frame);
	staging_wait_for_writers(request);
	uint64_t ticket = trace_staging(request->direction, request->bytes);
	copy->done = staging_run(request);
	trace_staged(ticket, copy->done);
	return copy->done == request->bytes;
}

/* A copy of a block that another thread has taken goes in pieces: its size has no bound. */
#define PIECE ((size_t)4 << 20)

/*
 * True for pieces that go through the ring.  The driver stages smaller pieces of pageable memory as
 * fast.  A synchronous call would wait until the device has read the ring; a deferred copy is an
 * asynchronous call.
 */
static bool fits_the_ring(const struct copy *copy)
{
	return !copy->request->rows && copy->request->direction != TRACE_D2H &&
	       copy->on_stack == NULL && copy->now == copy->request->bytes &&
	       (copy->request->asynchronous || copy->route == COPY_DEFER);
}

/*
 * Maps a buffer, unless an earlier piece, which was no shorter, has one.  The driver stages the
 * buffer inside its call, so no transfer of it is ever in flight.
 */
static char *map(struct copy *copy, size_t bytes)
{
	if (copy->mapped != NULL)
		return copy->mapped;
	char *memory = hp_map(NULL, bytes, PROT_READ | PROT_WRITE, 0);

	if ((void *)memory == MAP_FAILED) {
		hp_count(arena_refused);
		return NULL;
	}
	copy->mapped = memory;
	copy->mapped_bytes = bytes;
	return memory;
}

/* Copies a source of `bytes`.  Of rows, copies no gaps, which may be far longer. */
static void copy_source(const struct copy *copy, char *to, size_t bytes)
{
	const struct shape *shape = &copy->request->shape;
	const char *from = copy->from;

	if (!copy->request->rows || shape->width == 0 || !hp_keeps(bounced_rows)) {
		memcpy(to, from, bytes);
		return;
	}
	for (size_t at = 0, run; at < shape_bytes(shape); at += run) {
		size_t offset = shape_offset(shape, at, &run);

		memcpy(to + offset, from + offset, run);
	}
}

/*
 * Takes a part of the ring for the piece.  True: no capture begins before route_bounce_release().
 * False: the ring has no room now, or a capture is active.
 */
static bool take_ring(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (!fits_the_ring(copy) || !enqueue_begin())
		return false;
	bool taken = ring_take(copy->now, request->asynchronous ? request->stream : NULL,
			       request->per_thread, &copy->ring);
	if (!taken)
		enqueue_end();
	return taken;
}

bool route_bounce_source(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (copy->facts.values[COPY_HOST_MEMORY] == PIN_TAKEN && copy->now > PIECE)
		copy->now = PIECE;
	staging_wait_for_writers(request);
	if (take_ring(copy)) {
		copy->ring_bytes = copy->now;
		copy->ticket = trace_staging(request->direction, copy->now);
		staging_ring_fill(&copy->ring, copy->from, copy->now);
		copy->from = copy->ring.memory;
		return true;
	}
	/* A bounce buffer has room for rows with their gaps. */
	size_t bytes = request->rows && hp_keeps(bounced_rows) ? request->extent : copy->now;
	char *buffer = copy->on_stack != NULL ? copy->on_stack : map(copy, bytes);
	if (buffer == NULL)
		return false;
	if (request->direction != TRACE_D2H)
		copy_source(copy, buffer, bytes);
	copy->from = buffer;
	return true;
}

void route_bounce_received(struct copy *copy)
{
	if (copy->request->direction == TRACE_D2H)
		memcpy((char *)copy->request->host + copy->done, copy->from, copy->now);
}

void route_bounce_release(struct copy *copy, bool sent)
{
	if (copy->ring.memory != NULL) {
		copy->ring_bytes = sent ? copy->ring_bytes : 0;
		trace_staged(copy->ticket, copy->ring_bytes);
		ring_put(&copy->ring, sent);
		enqueue_end();
	}
	if (copy->mapped != NULL)
		hp_unmap(copy->mapped, copy->mapped_bytes);
	copy->mapped = NULL;
}

/* Enqueues a synchronous upload as an asynchronous one. */
static bool enqueue(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (!enqueue_begin())
		return false;
	bool sent = REAL(cuMemcpyHtoDAsync_v2)(request->far, copy->from, request->bytes, NULL) ==
		    CUDA_SUCCESS;
	if (sent)
		defer_add();
	enqueue_end();
	return sent;
}

/*
 * The driver reads a pageable source before its call returns; a source that is pinned, or may be
 * soon, is bounced first.  If the driver refuses the copy, the program's own call repeats the copy
 * and returns its result.
 */
bool route_defer(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	bool bounced = copy->facts.values[COPY_HOST_MEMORY] != PIN_PAGEABLE;

	copy->from = request->host;
	copy->now = request->bytes;
	if (bounced && hp_keeps(deferred_source) && !route_bounce_source(copy))
		return false;
	bool sent = enqueue(copy);
	if (bounced)
		route_bounce_release(copy, sent);
	if (!sent && hp_keeps(deferred_refusals))
		return false;
	copy->done = request->bytes;
	return true;
}
