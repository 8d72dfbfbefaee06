/*
 * route_wait.c - waits that routes add to the program's call.
 */
#include "engine/route_wait.h"
#include "base/protections.h"
#include "engine/stream.h"
#include "engine/visibility.h"

/*
 * Waits for the stream.  A download into pageable memory is complete on return, so this call
 * returns its error.
 */
static void wait_for_copy(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	CUresult result = stream_wait(request->stream, request->per_thread);

	if (request->direction != TRACE_H2D)
		copy->result = result;
}

void route_wait_for_stream(struct copy *copy)
{
	if (hp_keeps(pinned_copy_waits))
		wait_for_copy(copy);
}

void route_wait_for_writers(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (request->direction == TRACE_H2D && !request->asynchronous && visibility_of_sources() &&
	    hp_keeps(source_behind_work))
		stream_wait(NULL, request->per_thread);
}
