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
 * COPY_BOUNCE: called before each driver call.  Copies the source of the piece, and sets copy->from
 * to the copy: in the ring, which the device reads, or in a bounce buffer, which the driver stages
 * inside its call: on the caller's stack, or mapped for the copy.  False: there is no memory for
 * either.
 */
bool route_bounce_source(struct copy *copy);

/* Called after the driver's call for a piece: a downloaded piece is still in the buffer. */
void route_bounce_received(struct copy *copy);

/*
 * Gives back the part of the ring and the buffer that the copy holds.  `sent`: the driver has
 * enqueued the piece, as the last work on its stream.
 */
void route_bounce_release(struct copy *copy, bool sent);

/*
 * Called after the last call of COPY_DIRECT has succeeded, if it may return before its transfer has
 * completed: waits as pageable memory implies.
 */
void route_direct_finish(struct copy *copy);

#endif
