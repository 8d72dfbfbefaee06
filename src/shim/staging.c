/*
 * staging.c - when the ring and the copy threads come, and who keeps out of their way.
 *
 * Both are made by the first copies that would have gained from them as much as they cost.
 */
#include "base/cancel.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/protections.h"
#include "copy/cores.h"
#include "copy/ring.h"
#include "copy/stage.h"
#include "copy/workers.h"
#include "host/pin.h"
#include "shim/copy.h"

#include <errno.h>
#include <pthread.h>

#define PATIENCE_NS     1000000000u
#define PAUSE_NS        100000

#define LEAST_WITH_GAPS ((size_t)1 << 20)

/* With fewer slots a large copy is not staged at all (copy/stage.c). */
#define RING_LEAST      (4 * RING_SLOT_BYTES)

static _Atomic int started;        /* 0: no, 1: a thread is at it, 2: done */
static unsigned threads;           /* written before `started` is 2 */
static _Atomic uint64_t missed_ns; /* that copies would have been faster with a ring */
static _Atomic unsigned running;   /* staged copies under way */

/* Where the parent has used CUDA it does not work in the child, and the crew is not there. */
static void after_fork_child(void)
{
	ring_after_fork_child();
	pocket_after_fork_child();
	workers_after_fork_child();
	atomic_store(&running, 0);
}

/* By a route that has use for it. */
static bool pocket_is_forced(void)
{
	return hp_options->route == COPY_BOUNCE || hp_options->route == COPY_DEFER;
}

/* A ring takes a quarter of the pin budget at most: the rest is the program's buffers'. */
static uint64_t ring_bytes(void)
{
	uint64_t most = pin_budget() / 4;

	if (hp_options->ring <= most || !hp_keeps(staging_budget))
		return hp_options->ring;
	return most >= RING_LEAST ? most : 0;
}

static bool start(void)
{
	int expected = 0;

	if (atomic_load_explicit(&started, memory_order_acquire) == 2)
		return true;
	if (!atomic_compare_exchange_strong(&started, &expected, 1))
		return false;
	threads = hp_options->threads == HP_AUTO       ? cores_default()
		  : hp_options->threads < WORKERS_MOST ? (unsigned)hp_options->threads
						       : WORKERS_MOST;
	/* Without it a child would believe in a crew that it has not. */
	if (pthread_atfork(NULL, NULL, after_fork_child) == 0) {
		ring_start(ring_bytes());
		/* Who wants no ring wants no pinned memory of ours. */
		if (hp_options->ring >= RING_SLOT_BYTES)
			pocket_start(pocket_is_forced() ? 0 : POCKET_WANTS);
	}
	atomic_store_explicit(&started, 2, memory_order_release);
	return true;
}

struct stage_copy shim_stage_describe(const struct shim_copy *copy)
{
	return (struct stage_copy){
		.to_device = copy->direction == TRACE_H2D,
		.asynchronous = copy->asynchronous,
		.per_thread = copy->per_thread,
		.stream = copy->asynchronous ? copy->stream : NULL,
		.device = copy->far,
		.host = (void *)copy->host,
		.shape = copy->shape.width != 0 ? copy->shape : shape_of_run(copy->bytes),
	};
}

/*
 * With gaps it gains what a run of as many bytes does, as long as rows are long: the driver has the
 * same gaps.  Smaller copies with gaps are left to the driver: no benchmark has timed them.
 */
static bool pays_with_gaps(const struct shim_copy *copy, const struct copy_facts *facts)
{
	const struct shape *shape = &copy->shape;

	if (shape->width == 0 || facts->forced == COPY_STAGE ||
	    (!shape_has_gaps(shape, &shape->host) && !shape_has_gaps(shape, &shape->device)))
		return true;
	return copy->bytes >= LEAST_WITH_GAPS && shape_pays(shape, facts->to_device);
}

static bool is_untouched(const struct shim_copy *copy)
{
	return copy->direction == TRACE_D2H && copy->bytes >= COPY_ASK_UNTOUCHED &&
	       stage_is_untouched(copy->host, shim_copy_extent(copy));
}

/* Would it pay?  No call into the driver. */
static bool is_wanted(const struct shim_copy *copy, struct copy_facts *facts)
{
	if (copy->far == 0 || copy->host == NULL ||
	    (copy->direction != TRACE_H2D && copy->direction != TRACE_D2H) ||
	    shim_somebody_captures() || !start() || !ring_may_be())
		return false;
	/* The crew that there is, or that there would be. */
	facts->workers = ring_is_there() ? workers_count() : threads;
	return copy_stage_gain_ns(facts) != 0 && pays_with_gaps(copy, facts) &&
	       !stage_was_registered(copy->host);
}

static bool has_earned_ring(const struct copy_facts *facts)
{
	uint64_t gain_ns = copy_stage_gain_ns(facts);

	return atomic_fetch_add(&missed_ns, gain_ns) + gain_ns >= COPY_RING_COST_NS;
}

void shim_stage_look(const struct shim_copy *copy, struct copy_facts *facts)
{
	if (!is_wanted(copy, facts))
		return;

	struct stage_copy stage = shim_stage_describe(copy);
	if (!stage_is_possible(&stage))
		return;
	if (!ring_is_there()) {
		if (!has_earned_ring(facts) || !ring_make())
			return;
		workers_start(threads);
		facts->workers = workers_count();
	}
	facts->stageable = true;
}

bool shim_stage_wins(const struct shim_copy *copy, struct copy_facts *facts)
{
	if (copy->direction != TRACE_D2H || copy->bytes < COPY_ASK_UNTOUCHED ||
	    atomic_load(&copy->block->pin) != BLOCK_PAGEABLE || !is_wanted(copy, facts) ||
	    !is_untouched(copy))
		return false;
	facts->untouched = true;
	shim_stage_look(copy, facts);
	return copy_stages_rather_than_pins(facts);
}

/* What it gains is the wait, which nobody knows beforehand: eight of them earn the ring. */
bool shim_stage_early(const struct shim_copy *copy, bool pinned)
{
	struct stage_copy stage = shim_stage_describe(copy);
	const uint64_t gain_ns = COPY_RING_COST_NS / 8;

	if (shim_somebody_captures() || !start() || !ring_may_be() ||
	    !(pinned ? stage_may_cut(&stage) : stage_is_possible(&stage)))
		return false;
	if (ring_is_there())
		return true;
	if (atomic_fetch_add(&missed_ns, gain_ns) + gain_ns < COPY_RING_COST_NS || !ring_make())
		return false;
	workers_start(threads);
	return true;
}

bool shim_stage_across(const struct shim_copy *copy)
{
	struct stage_copy stage = shim_stage_describe(copy);

	if (copy->far == 0 || copy->shape.width == 0 || shim_somebody_captures() || !start() ||
	    !ring_may_be() || !stage_may_cut(&stage))
		return false;
	if (!ring_is_there() && !ring_make())
		return false;
	workers_start(threads);
	return true;
}

/* Pageable memory the driver would take in and return, where it is little. */
static bool returns_early(const struct shim_copy *copy)
{
	return copy->route == COPY_EARLY || (copy->asynchronous && copy->direction == TRACE_H2D &&
					     copy->bytes < COPY_BLOCKS_FROM);
}

bool shim_stage_enter(void)
{
	hp_uncancellable_begin();
	/* Said first: a capture that begins now waits for this copy, or is seen here. */
	atomic_fetch_add(&running, 1);
	return !shim_somebody_captures();
}

void shim_stage_leave(void)
{
	atomic_fetch_sub(&running, 1);
	hp_uncancellable_end();
}

bool shim_pocket_take(struct shim_copy *copy)
{
	if (!start())
		return false;
	if (shim_stage_enter() && pocket_take(copy->now, copy->asynchronous ? copy->stream : NULL,
					      copy->per_thread, &copy->pocket))
		return true;
	shim_stage_leave();
	return false;
}

void shim_pocket_end(struct shim_copy *copy, bool sent)
{
	if (sent)
		pocket_leave(&copy->pocket);
	else
		pocket_put(&copy->pocket);
	shim_stage_leave();
}

size_t shim_stage_run(const struct shim_copy *copy, bool *ret_under_way)
{
	size_t moved = 0;

	*ret_under_way = false;
	if (shim_stage_enter()) {
		struct stage_copy stage = shim_stage_describe(copy);

		stage.hands = copy_hands(stage.to_device, copy->bytes, is_untouched(copy),
					 workers_count());
		stage.returns_early = returns_early(copy);
		stage.never_waits = stage.returns_early && copy->asynchronous;
		moved = stage_run(&stage, ret_under_way);
	}
	shim_stage_leave();
	if (moved < copy->bytes)
		hp_count(stages_given_up);
	return moved;
}

/*
 * An event that is recorded on the legacy stream would break a capture on a stream that it is
 * ordered with, even in the relaxed mode (error 906; H200, driver 580.159).  Not for ever: the copy
 * may be waiting for a kernel that waits for this thread.
 */
void shim_stage_settle(void)
{
	uint64_t end_ns = hp_now_ns() + PATIENCE_NS;

	while (atomic_load(&running) != 0 && hp_now_ns() < end_ns)
		hp_sleep_ns(PAUSE_NS);
}
