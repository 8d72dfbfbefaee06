/*
 * plan.c - chooses the route of a copy from facts about the copy.
 *
 * Cheap facts are asked for first, and each only if it can change the route.  The times that the
 * borders between routes rest on are in doc/measurements.md#borders.
 */
#include "engine/plan.h"
#include "engine/copy_state.h"

static unsigned ask(struct copy *copy, enum copy_fact fact)
{
	struct copy_facts *facts = &copy->facts;

	if ((facts->known >> fact & 1) == 0) {
		facts->known |= 1u << fact;
		facts->values[fact] = facts->find(copy, fact);
	}
	return facts->values[fact];
}

static bool is_pinned(struct copy *copy)
{
	return copy->block != NULL && ask(copy, COPY_HOST_MEMORY) == PIN_PINNED;
}

static bool is_upload(const struct copy *copy)
{
	return copy->request->direction == TRACE_H2D;
}

/*
 * True for an upload so small that the driver stages pageable memory inside the call, and returns
 * before earlier work has completed: an asynchronous upload, or one on the thread's own stream that
 * waits for the legacy stream only.
 */
static bool is_staged_by_the_driver(const struct copy *copy)
{
	const struct copy_request *request = copy->request;
	bool is_small = request->asynchronous
				? request->bytes < COPY_BLOCKS_FROM
				: request->per_thread && request->bytes <= COPY_LEGACY_MOST;

	return is_small && is_upload(copy) && request->extent <= COPY_BLOCKS_FROM;
}

/* True if the copy is bounced whether or not the stream has work. */
static bool always_bounces(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (!is_upload(copy) || request->rows)
		return false;
	return request->bytes <= (request->asynchronous ? COPY_BOUNCE_MOST : COPY_STAGED_MOST);
}

/* True if the copy is a synchronous upload that is so small that it can be deferred. */
static bool may_return_early(const struct copy *copy)
{
	const struct copy_request *request = copy->request;

	return is_upload(copy) && !request->rows && !request->asynchronous && request->far != 0 &&
	       request->bytes <= COPY_DEFER_MOST && !request->per_thread && copy->facts.may_defer &&
	       !copy->facts.captures;
}

/* Whether it can be deferred is asked first: pinning then gains less. */
static bool is_deferred(struct copy *copy)
{
	size_t most = copy->facts.downloads_follow ? COPY_STAGED_MOST : COPY_DEFER_PINNED_MOST;

	if (!may_return_early(copy) || !ask(copy, COPY_IS_DEFERRABLE))
		return false;
	/* On an idle stream, a larger pinned source is faster without a copy of it. */
	return !is_pinned(copy) || copy->request->bytes <= most || ask(copy, COPY_IS_BUSY);
}

/* A synchronous copy waits for earlier work before hotpin reads its source. */
static bool reads_late(struct copy *copy)
{
	return copy->request->asynchronous && ask(copy, COPY_READS_LATE);
}

/* True if the copy of a pinned block is an upload that native CUDA does not wait for. */
static bool is_bounced(struct copy *copy)
{
	return (always_bounces(copy) ||
		(is_staged_by_the_driver(copy) &&
		 (ask(copy, COPY_IS_BUSY) || ask(copy, COPY_IS_BEHIND_LEGACY)))) &&
	       !reads_late(copy);
}

static enum copy_route choose(struct copy *copy)
{
	if (is_deferred(copy))
		return COPY_DEFER;
	if (is_pinned(copy) && is_bounced(copy))
		return COPY_BOUNCE;
	if (copy_stage_gain_ns(copy) > 0 && ask(copy, COPY_IS_STAGEABLE))
		return COPY_STAGE;
	return copy_plan_fallback(copy);
}

/* True if the route that HOTPIN_ROUTE names can carry out this copy with unchanged semantics. */
static bool is_possible(struct copy *copy, enum copy_route route)
{
	const struct copy_request *request = copy->request;

	switch (route) {
	case COPY_PASS:
		/* An asynchronous copy of pinned memory would return too early. */
		return copy_plan_fallback(copy) == COPY_PASS ||
		       (is_pinned(copy) && !request->asynchronous);
	case COPY_DIRECT:
		return is_pinned(copy);
	case COPY_BOUNCE:
		return is_pinned(copy) && is_upload(copy) && request->bytes <= COPY_BLOCKS_FROM &&
		       request->extent <= COPY_BLOCKS_FROM && !reads_late(copy);
	case COPY_STAGE:
		return copy_stage_gain_ns(copy) > 0 && ask(copy, COPY_IS_STAGEABLE);
	default:
		return false;
	}
}

enum copy_route copy_plan(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	enum copy_route forced = copy->facts.forced;

	if (request->bytes == 0)
		return COPY_PASS;
	if (copy->facts.captures && copy->block != NULL && request->asynchronous &&
	    ask(copy, COPY_IS_CAPTURED))
		return COPY_UNPIN;
	enum copy_route route = choose(copy);
	return forced != COPY_AUTO && is_possible(copy, forced) ? forced : route;
}

enum copy_route copy_plan_fallback(const struct copy *copy)
{
	static const enum copy_route routes[] = {
		[PIN_PAGEABLE] = COPY_PASS,
		[PIN_PINNED] = COPY_DIRECT,
		[PIN_TAKEN] = COPY_BOUNCE,
	};

	return routes[copy->facts.values[COPY_HOST_MEMORY]];
}

bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes)
{
	return !(to_device && asynchronous && bytes < COPY_BLOCKS_FROM);
}

/* Returns what staging saves a copy of pageable memory, ns. */
static uint64_t stage_gain_of_pageable(struct copy *copy)
{
	size_t bytes = copy->request->bytes;
	bool to_device = is_upload(copy);

	if (bytes < copy_stage_least(to_device, copy->request->asynchronous))
		return 0;
	if ((to_device || bytes >= 4 * COPY_MIB) && ask(copy, COPY_WORKERS) < 2)
		return 0;
	if (bytes < 64 * COPY_KIB)
		return 3000;
	if (bytes < COPY_MIB)
		return 5000;
	return ask(copy, COPY_WORKERS) < 2 ? 9000 : bytes / 26;
}

uint64_t copy_stage_gain_ns(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	enum copy_route forced = copy->facts.forced;

	if (request->bytes == 0 || request->far == 0 || copy->facts.captures ||
	    (!is_upload(copy) && request->direction != TRACE_D2H) || is_pinned(copy))
		return 0;
	/* A copy that the driver stages returns at once; through the area it would wait. */
	if (forced == COPY_STAGE && !is_staged_by_the_driver(copy))
		return COPY_STAGING_COST_NS;
	return forced == COPY_PASS ? 0 : stage_gain_of_pageable(copy);
}
