/*
 * route_defer.c - a small synchronous upload as an asynchronous copy of pageable memory.
 *
 * The driver takes the source in before its call returns.  What it refuses it is asked again by the
 * program's own call, so that the program gets that call's answer.
 */
#include "engine/route_defer.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/route_bounce.h"
#include "engine/route_wait.h"
#include "engine/staging.h"

static CUresult enqueue(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	CUresult result = CUDA_ERROR_UNKNOWN;

	if (staging_enter()) {
		result = REAL_ON(request->per_thread, cuMemcpyHtoDAsync_v2)(
			request->far, copy->from, request->bytes, NULL);
		if (result == CUDA_SUCCESS)
			defer_add(copy->tracked, request->per_thread);
	}
	staging_leave();
	return result;
}

static bool begin(struct copy *copy)
{
	copy->from = copy->request->host;
	copy->now = copy->request->bytes;
	if (copy->facts.place >= COPY_PINNED && hp_keeps(deferred_source) &&
	    !route_bounce_source(copy))
		return false;
	CUresult result = enqueue(copy);
	if (copy->facts.place >= COPY_PINNED)
		route_bounce_release(copy, result == CUDA_SUCCESS);
	if (result != CUDA_SUCCESS && hp_keeps(deferred_refusals))
		return false;
	copy->done = copy->request->bytes;
	return true;
}

const struct route route_defer = { .begin = begin,
				   .finish = route_wait_if_pinned,
				   .counter = HP_COUNT_copies_deferred };
