/*
 * copy.c - the life of a copy: facts, plan, route.
 *
 * A route may move bytes itself.  The program's own call moves the others, from or to the host
 * memory that the route has chosen, and does not run if none are left.  To the program a pinned
 * block is pageable, so routes keep the semantics of pageable memory.
 */
#include "engine/copy.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/options.h"
#include "base/parse.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/housekeeper.h"
#include "engine/route.h"
#include "engine/staging.h"
#include "engine/stream.h"
#include "engine/tracker.h"
#include "engine/unpin.h"
#include "engine/visibility.h"
#include "pin/cost.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "pin/use.h"
#include "trace/trace.h"

#include <string.h>

/* The number of further uploads of this thread that COPY_FOLLOWED concerns. */
static __thread uint8_t direct_left __attribute__((tls_model("initial-exec")));

/* A far side of unknown kind may be host memory; so may a device address, which the driver maps. */
static bool reads_late(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	return request->asynchronous && request->direction == TRACE_H2D && request->far != 0 &&
	       visibility_now != 0 && hp_keeps(source_behind_work) &&
	       !request_is_on_device(request->far);
}

/*
 * True if the copy need not give an address in the block to the driver: staging memory or a bounce
 * buffer can hold its bytes, a piece at a time.
 */
static bool may_go_aside(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	return !request->rows && request->other == NULL &&
	       (request->direction == TRACE_H2D || request->direction == TRACE_D2H) &&
	       !reads_late(copy);
}

/*
 * Enters the block, and that of the other side.  `use` is the result of a first attempt.  If
 * another thread has taken the block, the result is PIN_TAKEN, or `waits`: waits first.
 */
static enum pin_use enter(const struct copy *copy, enum pin_use use, bool waits)
{
	const struct copy_request *request = copy->request;
	struct block *other = request->other != NULL ? range_find(request->other) : NULL;

	for (;; use = pin_enter(copy->block, request->frame)) {
		if (use == PIN_TAKEN && !waits && may_go_aside(copy))
			return use;
		if (use == PIN_TAKEN) {
			pin_wait(copy->block);
			continue;
		}
		if (other == NULL || pin_enter(other, request->frame) != PIN_TAKEN)
			return use;
		/* A thread inside a block waits for no other. */
		pin_leave(request->frame);
		pin_wait(other);
	}
}

/*
 * Counts the copy for the pin rule, and pins the block if that pays now.  Enters the block: it
 * stays pinned, or pageable, until the copy has left.
 */
static enum pin_use find_host_memory(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	bool to_device = request->direction == TRACE_H2D;
	bool early = request->asynchronous || copy->facts.values[COPY_IS_DEFERRABLE];
	enum pin_use use =
		copy_gains_from_pinning(to_device, early, request->bytes)
			? pin_before_copy(copy->block, to_device, request->bytes, request->frame)
			: pin_enter(copy->block, request->frame);

	return enter(copy, use, false);
}

static bool is_stream_busy(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (direct_left != 0 && request->bytes <= COPY_DEFER_PINNED_MOST &&
	    copy->facts.values[COPY_IS_DEFERRABLE])
		direct_left--;
	return stream_is_busy(request->stream, request->per_thread);
}

static unsigned find(struct copy *copy, enum copy_fact fact)
{
	const struct copy_request *request = copy->request;

	switch (fact) {
	case COPY_IS_CAPTURED:
		/*
		 * A graph keeps the semantics of pageable memory only for nodes that were created
		 * with pageable memory.  A node of a pinned block reads its source when the graph
		 * runs, not at its launch.  If the block is unpinned by then, the node ends the
		 * context (error 719).  So hotpin unpins the block before the driver's call.
		 * Pinning the block again later does no harm.
		 */
		return stream_is_captured(request->stream, request->per_thread);
	case COPY_IS_DEFERRABLE:
		return defer_is_possible();
	case COPY_HOST_MEMORY:
		return find_host_memory(copy);
	case COPY_IS_BUSY:
		return is_stream_busy(copy);
	case COPY_IS_BEHIND_LEGACY:
		return stream_is_behind_legacy(request->stream, request->per_thread);
	case COPY_IS_STAGEABLE:
		return staging_is_possible(copy);
	case COPY_WORKERS:
		return staging_workers();
	case COPY_READS_LATE:
		return reads_late(copy);
	default:
		return 0;
	}
}

/* Fills in the facts that cost a few loads. */
static void begin_facts(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	struct copy_facts *facts = &copy->facts;

	/* To the driver a copy that begins in unregistered memory is pageable throughout. */
	if (heap_owns(request->host))
		copy->block = range_find(request->host);
	facts->find = find;
	facts->captures = state_captures != 0 && hp_keeps(plain_during_captures);
	facts->may_defer = hp_options->async;
	facts->downloads_follow = direct_left != 0;
	facts->forced = (enum copy_route)hp_options->route;
}

/*
 * If the program passes device memory as the host side, the driver does not wait.  Memory that the
 * CPU can read is not device memory; asking the driver about an unknown address takes 2 us.
 */
static bool download_waits(const void *host)
{
	return range_find(host) != NULL || hp_can_read(host) || !hp_keeps(device_called_host) ||
	       !request_is_on_device((CUdeviceptr)host);
}

/*
 * Called while deferred copies are in flight.  Notes whether a synchronous download waits for them,
 * and whether it follows an upload of its own thread.
 */
static void note_what_it_waits_for(struct copy *copy)
{
	if (copy->request->per_thread ||
	    (copy->request->bytes != 0 && !download_waits(copy->request->host)))
		return;
	copy->settles = defer_is_awaited();
	if (copy->settles && defer_upload_is_last())
		direct_left = COPY_FOLLOWED;
}

static const enum hp_counter counters[COPY_ROUTES] = {
	[COPY_PASS] = HP_COUNT_copies_passed,    [COPY_DIRECT] = HP_COUNT_copies_direct,
	[COPY_BOUNCE] = HP_COUNT_copies_bounced, [COPY_STAGE] = HP_COUNT_copies_staged,
	[COPY_DEFER] = HP_COUNT_copies_deferred, [COPY_UNPIN] = HP_COUNT_copies_passed,
};

static bool is_between_devices(const struct copy_request *request)
{
	return request->device[0] != 0 && request->device[1] != 0;
}

void copy_begin(struct copy *copy, const struct copy_request *request)
{
	memset(copy, 0, sizeof(*copy));
	copy->request = request;
	copy->route = COPY_PASS;
	if (!state_active)
		return;
	pin_give_back(request->frame);
	/*
	 * Also during a capture on another stream: a query for each copy would cost more than the
	 * waits of later copies.
	 */
	if (atomic_load(&state_captures) != 0 && request->asynchronous &&
	    !is_between_devices(request))
		visibility_raise(REAL_SEEN_GRAPH);
	for (size_t i = 0; i < HP_LEN(request->device); i++)
		copy->holds += unpin_refuse(request->device[i]);
	if (request->host != NULL && request->bytes != 0) {
		begin_facts(copy);
		copy->route = copy_plan(copy);
	}
	if (request->direction == TRACE_D2H && !request->asynchronous && tracker_any())
		note_what_it_waits_for(copy);
}

static bool begin(struct copy *copy)
{
	switch (copy->route) {
	case COPY_STAGE:
		return route_stage(copy);
	case COPY_DEFER:
		return route_defer(copy);
	case COPY_UNPIN:
		return route_unpin(copy);
	default:
		return true;
	}
}

/* Runs the route up to the driver's next call.  False: the fallback carries out the rest. */
static bool prepare(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (!copy->begun && !begin(copy))
		return false;
	copy->begun = true;
	copy->now = request->bytes - copy->done;
	copy->from = request->host != NULL ? (const char *)request->host + copy->done : NULL;
	return copy->now == 0 || copy->route != COPY_BOUNCE || route_bounce_source(copy);
}

static void fall_back(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	unsigned *memory = &copy->facts.values[COPY_HOST_MEMORY];
	bool staged = copy->route == COPY_STAGE;

	/* A staged copy is not inside its block, nor one that found it taken. */
	if (copy->block != NULL && (staged || *memory == PIN_TAKEN))
		*memory = enter(copy, pin_enter(copy->block, request->frame),
				!staged || request->rows);
	copy->route = copy_plan_fallback(copy);
	copy->begun = false;
	/* One call moves all rows. */
	if (request->rows)
		copy->done = 0;
}

/*
 * True if the range of the refused call crosses an end of a pinned block.  The driver refuses a
 * range that begins in a registration and ends outside it (CUDA_ERROR_INVALID_VALUE; H200, driver
 * 580.159).
 */
static bool crosses_a_registration(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (request->other != NULL && pin_crosses(request->other, request->other_extent))
		return true;
	if (request->rows)
		return copy->route != COPY_BOUNCE && pin_crosses(request->host, request->extent);
	return pin_crosses(copy->from, copy->now);
}

/* Unpins a range that the driver has refused because of our pin; the call is repeated once. */
static bool repeat_unpinned(struct copy *copy)
{
	if (copy->result != CUDA_ERROR_INVALID_VALUE || copy->retried ||
	    copy->facts.values[COPY_IS_CAPTURED] || copy->request->host == NULL ||
	    !crosses_a_registration(copy) || !hp_keeps(refused_unpinned))
		return false;
	copy->retried = true;
	copy->route = COPY_UNPIN;
	route_unpin(copy);
	return true;
}

bool copy_next(struct copy *copy)
{
	bool first = !copy->begun;

	if (copy->now != 0 && copy->result != CUDA_SUCCESS)
		return repeat_unpinned(copy);
	if (copy->now != 0 && copy->route == COPY_BOUNCE)
		route_bounce_received(copy);
	copy->done += copy->now;
	copy->now = 0;
	while (!prepare(copy))
		fall_back(copy);
	/* An empty copy runs once, for its return code. */
	return copy->now != 0 || (first && copy->request->bytes == 0);
}

/*
 * Adds the waits that pageable memory implies, and ends the use of the block.  The program may free
 * its memory afterwards, so no transfer of it may be in flight.
 */
static void keep_semantics(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	bool early = request->asynchronous || copy->route == COPY_DEFER;

	if (early && copy->result == CUDA_SUCCESS && copy->route == COPY_DIRECT)
		route_direct_finish(copy);
	pin_leave(request->frame);
	housekeeper_note_kept();
}

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
	if (copy->facts.values[COPY_HOST_MEMORY] != PIN_PINNED)
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

/* Reports the copy, which has succeeded, to the profile. */
static void report(const struct copy *copy)
{
	const struct copy_request *request = copy->request;
	const struct block *block = copy->block;

	trace_copied(&(struct trace_copy){
		.direction = request->direction,
		.memory = memory_of(copy),
		.synchronous = !request->asynchronous,
		.deferred = copy->route == COPY_DEFER,
		.in_graph = copy->facts.values[COPY_IS_CAPTURED],
		.route = (uint8_t)copy->route,
		.bytes = request->bytes,
		.enter_ns = request->called_ns,
		.leave_ns = hp_now_ns(),
		.linear = !request->rows,
		.device = request->far != 0 ? request->far : request->device[0],
		.host = request->host,
		.allocator = block != NULL ? atomic_load(&block->site) : 0,
		.block_bytes = block != NULL ? atomic_load(&block->size) : 0,
		.gain_ns = gains(copy) ? cost_saved_ns(request->bytes) : 0,
		.frame = request->frame,
	});
}

CUresult copy_end(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	for (; copy->holds != 0; copy->holds--)
		unpin_release();
	if (copy->mapped != NULL || copy->ring.memory != NULL)
		route_bounce_release(copy, copy->result == CUDA_SUCCESS);
	if (copy->block != NULL)
		keep_semantics(copy);
	hp_count_one(counters[copy->route]);

	/* An empty copy waits for nothing. */
	if (copy->result != CUDA_SUCCESS || request->bytes == 0)
		return copy->result;
	if (request->called_ns != 0 && trace_active())
		report(copy);
	if (request->direction == TRACE_D2H && copy->settles)
		tracker_complete(tracker_state());
	return copy->result;
}
