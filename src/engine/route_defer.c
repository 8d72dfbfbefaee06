/*
 * route_defer.c - a small synchronous upload as an asynchronous copy.
 *
 * The driver reads a pageable source before its call returns; a pinned source is bounced first.  If
 * the driver refuses the copy, the program's own call repeats the copy and returns its result.
 */
#include "engine/route_defer.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/route_bounce.h"
#include "engine/enqueue.h"

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

static bool begin(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	/* Or it may be soon. */
	bool pinned = copy->facts.values[COPY_HOST_MEMORY] != COPY_PAGEABLE;

	copy->from = request->host;
	copy->now = request->bytes;
	if (pinned && hp_keeps(deferred_source) && !route_bounce_source(copy))
		return false;
	bool sent = enqueue(copy);
	if (pinned)
		route_bounce_release(copy, sent);
	if (!sent && hp_keeps(deferred_refusals))
		return false;
	copy->done = request->bytes;
	return true;
}

const struct route route_defer = { .begin = begin, .counter = HP_COUNT_copies_deferred };
