/*
 * report.c - copies as counters, rates and records.
 */
#include "engine/report.h"
#include "base/clock.h"
#include "base/counters.h"
#include "engine/facts.h"
#include "pin/policy.h"
#include "trace/trace.h"

static void count_route(enum copy_route route)
{
	switch (route) {
	case COPY_DIRECT:
	case COPY_WAIT:
		hp_count(copies_direct);
		break;
	case COPY_BOUNCE:
		hp_count(copies_bounced);
		break;
	case COPY_SPLIT:
		hp_count(copies_split);
		break;
	case COPY_SEND:
		hp_count(copies_sent);
		break;
	case COPY_STAGE:
	case COPY_EARLY:
		hp_count(copies_staged);
		break;
	case COPY_DEFER:
		break; /* counted when it was enqueued */
	default:
		hp_count(copies_passed);
		break;
	}
}

static bool is_staged(enum copy_route route)
{
	return route == COPY_STAGE || route == COPY_EARLY;
}

static enum trace_memory memory_of(const struct copy *copy)
{
	enum copy_route route = copy->plan.route;

	if (copy->request->direction == TRACE_D2D || copy->request->direction == TRACE_P2P)
		return TRACE_DEVICE;
	if (copy->staged)
		return is_staged(route) ? TRACE_STAGED : TRACE_PAGEABLE;
	switch (copy->facts.place) {
	case COPY_PINNED:
	case COPY_PIECES:
		if (copy->slot_bytes != 0)
			return TRACE_STAGED;
		return route == COPY_BOUNCE || route == COPY_DEFER || route == COPY_UNPIN
			       ? TRACE_PAGEABLE
			       : TRACE_PROMOTED;
	case COPY_PAGEABLE:
	case COPY_STRADDLES:
		return TRACE_PAGEABLE;
	default:
		return TRACE_UNKNOWN;
	}
}

static bool gains(const struct copy *copy)
{
	return facts_gain_from_pinning(copy, copy->plan.route == COPY_DEFER ||
						     copy->plan.route == COPY_EARLY);
}

static void record(const struct copy *copy, uint64_t leave_ns)
{
	const struct copy_request *request = copy->request;
	const struct block *block = copy->block;

	trace_copied(&(struct trace_copy){
		.direction = request->direction,
		.memory = memory_of(copy),
		.synchronous = !request->asynchronous,
		.deferred = copy->plan.route == COPY_DEFER ||
			    (copy->in_flight && !request->asynchronous),
		.captured = copy->facts.captured,
		.bytes = request->bytes,
		.enter_ns = request->called_ns,
		.leave_ns = leave_ns,
		.linear = !request->rows,
		.device = request->far != 0 ? request->far : request->device[0],
		.host = request->host,
		.allocator = block != NULL ? atomic_load(&block->site) : 0,
		.block_bytes = block != NULL ? atomic_load(&block->size) : 0,
		.gain_ns = gains(copy) ? pin_gain_ns(copy->facts.to_device, request->bytes) : 0,
		.frame = request->frame,
	});
}

/* Time spent on staging or pinning says nothing about what pinning would save. */
static void learn(const struct copy *copy, uint64_t ns)
{
	enum copy_route route = copy->plan.route;
	bool pinned = route == COPY_DIRECT || route == COPY_WAIT || route == COPY_SEND;

	if (!copy->facts.captured && !copy->staged && !copy->pinned_meanwhile && gains(copy))
		pin_after_copy(copy->facts.to_device, copy->request->bytes, pinned, ns);
}

void report_copy(const struct copy *copy, bool moved)
{
	count_route(copy->plan.route);
	if (!moved || (copy->enter_ns == 0 && copy->request->called_ns == 0))
		return;

	uint64_t leave_ns = hp_now_ns();

	if (copy->enter_ns != 0)
		learn(copy, leave_ns - copy->enter_ns);
	if (copy->request->called_ns != 0 && trace_active())
		record(copy, leave_ns);
}

void report_cut(struct copy *copy)
{
	if (copy->cut || copy->done != 0)
		return;
	copy->cut = true;
	copy->ticket = trace_cutting(copy->request->direction, copy->request->bytes);
}
