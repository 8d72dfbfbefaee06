/*
 * What a route of a copy does.  Each is in a file of its own, route_*.c.
 */
#ifndef HP_ENGINE_ROUTE_H
#define HP_ENGINE_ROUTE_H

#include "base/counters.h"
#include "engine/copy_state.h"

/* Any function may be NULL. */
struct route {
	/*
	 * Once, before the driver's first call: carries out what the route does itself, and counts
	 * it in copy->done.  False: the fallback has to carry out the rest.
	 */
	bool (*begin)(struct copy *copy);

	/*
	 * Before each call: may shorten the piece, copy->now, or put its source elsewhere,
	 * copy->from.  False: the fallback has to carry out the rest.
	 */
	bool (*piece)(struct copy *copy);

	/*
	 * After the last call has succeeded, for a block of ours and a call that may return before
	 * its transfer has completed: waits for what the program was promised.
	 */
	void (*finish)(struct copy *copy);

	enum hp_counter counter; /* of the copies that it has carried out */
};

#endif
