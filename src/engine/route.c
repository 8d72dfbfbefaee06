/*
 * route.c - the routes, except engine/route_bounce.c, and the waits that they add to the program's
 * call: to the program a pinned block is pageable.
 */
#include "engine/route.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/route_bounce.h"
#include "engine/staging.h"
#include "engine/stream.h"
#include "engine/unpin.h"
#include "pin/use.h"
#include "trace/trace.h"

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
