/* The routes of copies. */
#ifndef HP_ENGINE_ROUTE_H
#define HP_ENGINE_ROUTE_H

#include "engine/copy_state.h"

/*
 * Begin a route: called once, before the driver's first call.  They do the route's own part, and
 * count its bytes in copy->done.  False: the fallback carries out the rest.
 */
bool route_stage(struct copy *copy);
bool route_defer(struct copy *copy);
bool route_unpin(struct copy *copy);

/*
 * Called after the last call of COPY_DIRECT has succeeded, if it may return before its transfer has
 * completed: waits as pageable memory implies.
 */
void route_direct_finish(struct copy *copy);

#endif
