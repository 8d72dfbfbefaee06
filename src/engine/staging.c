/*
 * staging.c - makes staging memory and workers once the time that copies lost without them equals
 * their cost.
 */
#include "engine/staging.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/protections.h"
#include "engine/copy_state.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "engine/visibility.h"
#include "heap/pages.h"
#include "pin/pin.h"
#include "stage/area.h"
#include "stage/memory.h"
#include "stage/ring.h"
#include "stage/stage.h"
#include "stage/stageable.h"
#include "stage/workers.h"

#include <string.h>

#define LEAST_WITH_GAPS ((size_t)1 << 20)

/* The smallest download for which checking whether its destination is untouched pays. */
#define UNTOUCHED_LEAST ((size_t)1 << 20)

/* The smallest area that can stage a large copy (stage/stage.c). */
#define AREA_LEAST      (4 * AREA_UNIT)

static unsigned threads;     /* written before area_start() */
static _Atomic bool started; /* the workers; any thread */

/* True if HOTPIN_ROUTE names a route that uses the ring. */
static bool ring_is_forced(void)
{
	return hp_options->route == COPY_BOUNCE || hp_options->route == COPY_DEFER;
}

/* Returns the size of an area: a quarter of the pin budget at most, the rest is for blocks. */
static uint64_t area_bytes(void)
{
	uint64_t most = pin_budget() / 4;

	if (hp_options->ring <= most || !hp_keeps(staging_budget))
		return hp_options->ring;
	return most >= AREA_LEAST ? most : 0;
}

void staging_start(void)
{
	threads =
		hp_options->threads == HP_AUTO ? workers_default() : (unsigned)hp_options->threads;
	if (hp_options->ring >= AREA_UNIT)
		ring_start(ring_is_forced() ? 1 : RING_WANTS);
	area_start(area_bytes(), COPY_STAGING_COST_NS);
}

static struct stage_copy describe(const struct copy_request *request)
{
	return (struct stage_copy){
		.to_device = request->direction == TRACE_H2D,
		.asynchronous = request->asynchronous,
		.per_thread = request->per_thread,
		.stream = request->asynchronous ? request->stream : NULL,
		.device = request->far,
		.host = (void *)request->host,
		.shape = request->shape.width != 0 ? request->shape : shape_of_run(request->bytes),
	};
}

unsigned staging_workers(void)
{
	if (!memory_may_be(MEMORY_AREA))
		return 0;
	return atomic_load_explicit(&started, memory_order_relaxed) ? workers_count() : threads;
}

static void start_workers(void)
{
	if (atomic_load_explicit(&started, memory_order_relaxed))
		return;
	workers_start(threads);
	atomic_store(&started, true);
}

/*
 * True if staging pays for a copy with gaps.  With long rows the copy gains as much as a run of as
 * many bytes.  Other copies with gaps are left to the driver, because no benchmark has timed them.
 */
static bool pays_with_gaps(const struct copy_request *request)
{
	const struct shape *shape = &request->shape;

	if (request->gaps_there)
		return false;
	if (shape->width == 0 || hp_options->route == COPY_STAGE || !shape_has_gaps(shape))
		return true;
	return request->bytes >= LEAST_WITH_GAPS &&
	       shape_pays(shape, request->direction == TRACE_H2D);
}

/* Not the first or last page: a neighbor or an allocator may have touched them. */
static bool is_untouched(const struct copy_request *request)
{
	size_t edge = request->extent / 8;

	return request->direction == TRACE_D2H && request->bytes >= UNTOUCHED_LEAST &&
	       pages_resident_percent((uintptr_t)request->host + edge,
				      request->extent - 2 * edge) == 0;
}

bool staging_is_possible(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	struct stage_copy stage = describe(request);

	stage.host_is_taken = copy->facts.values[COPY_HOST_MEMORY] == PIN_TAKEN;

	if ((state_captures != 0 && hp_keeps(plain_during_captures)) ||
	    !memory_may_be(MEMORY_AREA) || !pays_with_gaps(request) ||
	    stage_was_registered(request->host) || !stage_is_possible(&stage) ||
	    !area_is_there(copy_stage_gain_ns(copy)))
		return false;
	start_workers();
	return true;
}

void staging_ring_fill(const struct ring_hold *hold, const void *from, size_t bytes)
{
	if (bytes < COPY_FILL_LEAST) {
		memcpy(hold->memory, from, bytes);
		return;
	}
	start_workers();
	stage_fill(hold->memory, from, bytes, stage_workers(true, bytes, false, workers_count()));
}

void staging_wait_for_writers(const struct copy_request *request)
{
	if (request->direction == TRACE_H2D && !request->asynchronous && visibility_now != 0 &&
	    hp_keeps(source_behind_work))
		stream_wait(NULL, request->per_thread);
}

size_t staging_run(const struct copy_request *request)
{
	struct stage_copy stage = describe(request);
	size_t moved = 0;

	bool legacy = stream_is_legacy(stage.stream, stage.per_thread);
	if (!legacy || enqueue_begin()) {
		stage.workers = stage_workers(stage.to_device, request->bytes,
					      is_untouched(request), workers_count());
		moved = stage_run(&stage);
		if (legacy)
			enqueue_end();
	}
	if (moved < request->bytes)
		hp_count(stages_given_up);
	return moved;
}
