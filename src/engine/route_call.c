/*
 * route_call.c - the routes that run the program's call on the whole range: pass, direct and unpin.
 */
#include "engine/route_call.h"
#include "base/protections.h"
#include "engine/route_wait.h"
#include "engine/unpin.h"
#include "pin/use.h"

const struct route route_pass = { .counter = HP_COUNT_copies_passed };
const struct route route_direct = { .finish = route_wait_for_stream,
				    .counter = HP_COUNT_copies_direct };

void route_hold(struct copy *copy)
{
	if (!copy->held)
		unpin_hold();
	copy->held = true;
}

static bool unpin_sides(struct copy *copy)
{
	const struct copy_request *request = copy->request;

	if (copy->facts.values[COPY_IS_CAPTURED] && !hp_keeps(captured_unpinned))
		return true;
	pin_leave(request->frame);
	route_hold(copy);
	unpin_range(request->host, request->extent);
	if (request->other != NULL)
		unpin_range(request->other, request->other_extent);
	return true;
}

const struct route route_unpin = { .begin = unpin_sides, .counter = HP_COUNT_copies_passed };
