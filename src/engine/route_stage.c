/*
 * route_stage.c - a copy through pinned staging memory.  The fallback moves the rest if too few
 * units are free.
 */
#include "engine/route_stage.h"
#include "engine/route_wait.h"
#include "engine/staging.h"
#include "pin/use.h"
#include "trace/trace.h"

static bool begin(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	copy->staged = true;
	/* The driver gets no address in the block. */
	pin_leave(request->frame);
	route_wait_for_writers(copy);
	uint64_t ticket = trace_staging(request->direction, request->bytes);
	copy->done = staging_run(request);
	trace_staged(ticket, copy->done, false);
	return copy->done == request->bytes;
}

const struct route route_stage = { .begin = begin, .counter = HP_COUNT_copies_staged };
