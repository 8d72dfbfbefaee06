/*
 * staging.c - creates staging memory and workers once the time that copies lost without them equals
 * their cost.
 */
#include "engine/staging.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/protections.h"
#include "engine/state.h"
#include "pin/pin.h"
#include "stage/cores.h"
#include "stage/move.h"
#include "stage/pieces.h"
#include "stage/pool.h"
#include "stage/stage.h"
#include "stage/stageable.h"
#include "stage/workers.h"

#define LEAST_WITH_GAPS    ((size_t)1 << 20)

/* The smallest region that can stage a large copy (stage/stage.c). */
#define LARGE_REGION_LEAST (4 * REGION_LARGE_UNIT)

static unsigned threads;           /* written before region_start() */
static _Atomic uint64_t missed_ns; /* time that staging would have saved; any thread */

/* True if HOTPIN_ROUTE names a route that uses small regions. */
static bool small_is_forced(void)
{
	return hp_options->route == COPY_BOUNCE || hp_options->route == COPY_DEFER;
}

/*
 * Returns how many uploads must find no small region before hotpin makes one.  HOTPIN_RING=0: it
 * makes none.
 */
static uint32_t small_wants(void)
{
	if (hp_options->ring < REGION_LARGE_UNIT)
		return REGION_NO_SMALL;
	return small_is_forced() ? 0 : POOL_SMALL_WANTS;
}

/*
 * Returns the size of the large region: a quarter of the pin budget at most, the rest is for
 * blocks.
 */
static uint64_t large_region_bytes(void)
{
	uint64_t most = pin_budget() / 4;

	if (hp_options->ring <= most || !hp_keeps(staging_budget))
		return hp_options->ring;
	return most >= LARGE_REGION_LEAST ? most : 0;
}

void staging_start(void)
{
	threads = hp_options->threads == HP_AUTO       ? cores_default()
		  : hp_options->threads < WORKERS_MOST ? (unsigned)hp_options->threads
						       : WORKERS_MOST;
	region_start(large_region_bytes(), small_wants());
	move_keep();
}

void staging_after_fork_child(void)
{
	region_after_fork_child();
	workers_after_fork_child();
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
	if (!pool_may_be())
		return 0;
	return pool_is_ready() ? workers_count() : threads;
}

/*
 * True if staging pays for a copy with gaps.  With long rows the copy gains as much as a run of as
 * many bytes.  Smaller copies with gaps are left to the driver, because no benchmark has timed
 * them.
 */
static bool pays_with_gaps(const struct copy_request *request, const struct copy_facts *facts)
{
	const struct shape *shape = &request->shape;

	if (shape->width == 0 || facts->forced == COPY_STAGE ||
	    (!shape_has_gaps(shape, &shape->host) && !shape_has_gaps(shape, &shape->device)))
		return true;
	return request->bytes >= LEAST_WITH_GAPS && shape_pays(shape, facts->to_device);
}

/* True if the copy would gain if its host memory is pageable.  Calls no driver function. */
static bool is_wanted(const struct copy_request *request, const struct copy_facts *facts)
{
	return pool_may_be() && pays_with_gaps(request, facts) &&
	       !stage_was_registered(request->host);
}

static bool samples_untouched(const struct copy_request *request)
{
	return request->direction == TRACE_D2H && request->bytes >= COPY_UNTOUCHED_LEAST &&
	       stage_is_untouched(request->host, request->extent);
}

bool staging_is_untouched(const struct copy_request *request, const struct copy_facts *facts)
{
	return is_wanted(request, facts) && samples_untouched(request);
}

static bool has_earned_memory(const struct copy_facts *facts)
{
	uint64_t gain_ns = copy_stage_gain_ns(facts);

	return atomic_fetch_add(&missed_ns, gain_ns) + gain_ns >= COPY_STAGING_COST_NS;
}

bool staging_is_possible(const struct copy_request *request, const struct copy_facts *facts)
{
	bool pinned = facts->host_memory >= COPY_PINNED;
	struct stage_copy stage = describe(request);

	if ((state_captures != 0 && hp_keeps(plain_during_captures)) || !pool_may_be() ||
	    (!pinned && !is_wanted(request, facts)))
		return false;
	size_t extent = shape_extent(&stage.shape, &stage.shape.device);
	bool may = pinned ? stage_may_cut(stage.device, extent, stage.stream)
			  : stage_is_possible(&stage);
	if (!may)
		return false;
	if (pool_is_ready())
		return true;
	if (!has_earned_memory(facts) || !pool_make())
		return false;
	workers_start(threads);
	return true;
}

bool staging_slot_take(const struct copy_request *request, size_t bytes, struct pool_hold *ret)
{
	if (!hp_users_try_enter(&state_enqueuers))
		return false;
	bool taken = pool_take_small(bytes, request->asynchronous ? request->stream : NULL,
				     request->per_thread, ret);
	if (!taken)
		hp_users_leave(&state_enqueuers);
	return taken;
}

void staging_slot_end(struct pool_hold *hold, bool sent)
{
	if (sent)
		pool_leave(hold, NULL);
	else
		pool_put(hold);
	hp_users_leave(&state_enqueuers);
}

size_t staging_run(const struct copy_request *request, bool returns_early, bool *ret_in_flight)
{
	size_t moved = 0;

	*ret_in_flight = false;
	if (hp_users_try_enter(&state_enqueuers)) {
		struct stage_copy stage = describe(request);

		stage.workers = pieces_workers(stage.to_device, request->bytes,
					       samples_untouched(request), workers_count());
		stage.returns_early = returns_early;
		stage.never_waits = returns_early && request->asynchronous;
		moved = stage_run(&stage, ret_in_flight);
		hp_users_leave(&state_enqueuers);
	}
	if (moved < request->bytes)
		hp_count(stages_given_up);
	return moved;
}
