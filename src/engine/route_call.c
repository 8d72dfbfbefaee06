/*
 * route_call.c - the routes that run the program's call on the whole range: pass, direct, wait and
 * unpin.
 */
#include "engine/route_call.h"
#include "base/protections.h"
#include "engine/route_wait.h"
#include "engine/unpin.h"

const struct route route_pass = { .finish = route_wait_if_pinned,
				  .counter = HP_COUNT_copies_passed };
const struct route route_direct = { .counter = HP_COUNT_copies_direct };
const struct route route_wait = { .finish = route_wait_for_stream,
				  .counter = HP_COUNT_copies_direct };

static bool unpin_sides(struct copy *copy)
{
	const struct copy_request *request = copy->request;
	void (*unpin)(const void *, size_t) =
		copy->block != NULL ? unpin_range_in_copy : unpin_range;

	if (copy->facts.captured && !hp_keeps(captured_unpinned))
		return true;
	unpin(request->host, request->extent);
	if (request->other != NULL)
		unpin(request->other, request->bytes);
	return true;
}

/* A captured copy does not run yet, so nothing waits for it. */
static void finish_unpinned(struct copy *copy)
{
	if (!copy->facts.captured)
		route_wait_if_pinned(copy);
}

const struct route route_unpin = { .begin = unpin_sides,
				   .finish = finish_unpinned,
				   .counter = HP_COUNT_copies_passed };
