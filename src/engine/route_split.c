/*
 * route_split.c - one call for each registration that the range touches.
 *
 * The driver refuses a call that names two registrations, or one and memory behind it
 * (CUDA_ERROR_INVALID_VALUE; H200, driver 580.159).
 */
#include "engine/route_split.h"
#include "base/protections.h"
#include "engine/arrays.h"
#include "engine/report.h"
#include "engine/route_wait.h"
#include "pin/pin.h"
#include "stage/stageable.h"

/* True if the other side is as long as the copy, or its length is unknown. */
static bool fits(const struct copy_request *request)
{
	if (request->far != 0)
		return stage_fits(request->far, request->bytes);
	size_t row = request->array != NULL ? array_row_bytes(request->array) : 0;

	return row == 0 || (request->array_at <= row && request->bytes <= row - request->array_at);
}

static bool begin(struct copy *copy)
{
	if (copy->request->called_ns != 0)
		report_cut(copy);
	return true;
}

static bool cut(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	size_t rest = copy->now;

	copy->now = pin_run(copy->from, rest);
	if (request->other != NULL)
		copy->now = pin_run((const char *)request->other + copy->done, copy->now);
	if (copy->now == rest || copy->done != 0 || !hp_keeps(refused_whole) || fits(request))
		return true;
	/* The driver refuses the copy as a whole, but would accept the first part. */
	copy->facts.host_memory = COPY_PAGEABLE;
	return false;
}

const struct route route_split = { .begin = begin,
				   .piece = cut,
				   .finish = route_wait_for_stream,
				   .counter = HP_COUNT_copies_split };
