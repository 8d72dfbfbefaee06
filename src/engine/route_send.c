/*
 * route_send.c - a copy of a block in several registrations, which this copy may be making.
 *
 * All pieces except the last are enqueued on the stream of the program's call.  The program's own
 * function moves the last one, behind the others, and waits if it is synchronous.
 */
#include "engine/route_send.h"
#include "engine/report.h"
#include "engine/route_wait.h"
#include "engine/state.h"
#include "heap/map.h"

/* Returns the bytes of the next piece; 0: the driver refuses to register it. */
static size_t next_piece(struct copy *copy)
{
	const char *from = (const char *)copy->request->host + copy->done;

	if (copy->pieces.block != NULL && !pin_pipeline_reach(&copy->pieces, from))
		return 0;
	return range_run(copy->block, from);
}

/* Enqueues the next piece on the stream of the program's call. */
static CUresult enqueue(const struct copy *copy, size_t bytes)
{
	const struct copy_request *request = copy->request;
	CUdeviceptr device = request->far + copy->done;
	char *host = (char *)request->host + copy->done;

	if (request->direction == TRACE_H2D)
		return REAL_ON(request->per_thread, cuMemcpyHtoDAsync_v2)(device, host, bytes,
									  request->stream);
	return REAL_ON(request->per_thread, cuMemcpyDtoHAsync_v2)(host, device, bytes,
								  request->stream);
}

static void enqueue_all_but_the_last(struct copy *copy)
{
	for (size_t bytes;
	     (bytes = next_piece(copy)) != 0 && bytes < copy->request->bytes - copy->done;) {
		if (enqueue(copy, bytes) != CUDA_SUCCESS)
			return;
		copy->done += bytes;
	}
}

static bool begin(struct copy *copy)
{
	if (copy->request->called_ns != 0)
		report_cut(copy);
	if (hp_users_try_enter(&state_enqueuers)) {
		enqueue_all_but_the_last(copy);
		hp_users_leave(&state_enqueuers);
	}
	/*
	 * If this fails, the block is pageable again; unpinning has waited for the pieces in
	 * flight, and the driver moves the rest.
	 */
	if (copy->pieces.block != NULL && !pin_pipeline_end(&copy->pieces))
		copy->facts.host_memory = COPY_PAGEABLE;
	/* If a piece could not be enqueued, the program's function returns the reason. */
	return copy->facts.host_memory != COPY_PAGEABLE &&
	       range_run(copy->block, (const char *)copy->request->host + copy->done) >=
		       copy->request->bytes - copy->done;
}

const struct route route_send = { .begin = begin,
				  .finish = route_wait_for_stream,
				  .counter = HP_COUNT_copies_sent };
