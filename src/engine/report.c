/* report.c - reports copies to the profile. */
#include "engine/report.h"
#include "base/tsc_clock.h"
#include "pin/cost.h"
#include "trace/trace.h"

/* True if the program has registered memory of the block, which may be the memory of the copy. */
static bool may_be_registered(const struct copy *copy)
{
	return copy->block != NULL && (atomic_load(&copy->block->word) & WORD_REGISTERED) != 0;
}

static enum trace_memory memory_of(const struct copy *copy)
{
	enum copy_route route = copy->route;

	if (copy->request->direction == TRACE_D2D || copy->request->direction == TRACE_P2P)
		return TRACE_DEVICE;
	if (copy->staged)
		return route == COPY_STAGE ? TRACE_STAGED : TRACE_PAGEABLE;
	if (copy->facts.values[COPY_HOST_MEMORY] != COPY_PINNED)
		return copy->block == NULL || may_be_registered(copy) ? TRACE_UNKNOWN
								      : TRACE_PAGEABLE;
	if (copy->ring_bytes != 0)
		return TRACE_STAGED;
	return route == COPY_BOUNCE || route == COPY_DEFER || route == COPY_UNPIN ? TRACE_PAGEABLE
										  : TRACE_PROMOTED;
}

static bool gains(const struct copy *copy)
{
	bool returns_early = copy->request->asynchronous || copy->route == COPY_DEFER;

	return copy->block != NULL && !may_be_registered(copy) &&
	       copy_gains_from_pinning(copy->request->direction == TRACE_H2D, returns_early,
				       copy->request->bytes);
}

_Static_assert(COPY_ROUTES == TRACE_ROUTES, "the profile names every route");

static void record(const struct copy *copy, uint64_t leave_ns)
{
	const struct copy_request *request = copy->request;
	const struct block *block = copy->block;

	trace_copied(&(struct trace_copy){
		.direction = request->direction,
		.memory = memory_of(copy),
		.synchronous = !request->asynchronous,
		.deferred = copy->route == COPY_DEFER,
		.captured = copy->facts.values[COPY_IS_CAPTURED],
		.route = (uint8_t)copy->route,
		.bytes = request->bytes,
		/* An adjustment may have set the clock back meanwhile. */
		.enter_ns = request->called_ns < leave_ns ? request->called_ns : leave_ns,
		.leave_ns = leave_ns,
		.linear = !request->rows,
		.device = request->far != 0 ? request->far : request->device[0],
		.host = request->host,
		.allocator = block != NULL ? atomic_load(&block->site) : 0,
		.block_bytes = block != NULL ? atomic_load(&block->size) : 0,
		.gain_ns = gains(copy) ? cost_saved_ns(request->bytes) : 0,
		.frame = request->frame,
	});
}

void report_copy(const struct copy *copy)
{
	if (trace_active())
		record(copy, hp_tsc_now_ns());
}
