/* The routes of copies. */
#ifndef HP_ENGINE_ROUTE_H
#define HP_ENGINE_ROUTE_H

#include "base/counters.h"
#include "engine/copy_state.h"

/* Any function may be NULL. */
struct route {
	/*
	 * Called once, before the driver's first call: does the route's own part and counts its
	 * bytes in copy->done.  False: the fallback carries out the rest.
	 */
	bool (*begin)(struct copy *copy);

	/*
	 * Called before each driver call: may shorten the piece (copy->now) or replace its source
	 * (copy->from).  False: the fallback carries out the rest.
	 */
	bool (*piece)(struct copy *copy);

	/*
	 * Called after the last call has succeeded, if the copy has a block and the call may return
	 * before its transfer has completed: waits as pageable memory implies.
	 */
	void (*finish)(struct copy *copy);

	enum hp_counter counter; /* counts the copies of this route */
};

extern const struct route route_pass, route_direct, route_stage, route_defer, route_unpin;

#endif
