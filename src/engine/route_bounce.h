/*
 * Copies by way of bounce buffers and the ring.
 */
#ifndef HP_ENGINE_ROUTE_BOUNCE_H
#define HP_ENGINE_ROUTE_BOUNCE_H

#include "engine/copy_state.h"

/*
 * Called before each driver call.  Copies the source of the piece, and sets copy->from to the copy:
 * into the ring, which the device reads, or into a bounce buffer, which the driver stages inside
 * its call: on the caller's stack, or mapped for the copy.  False: there is no memory for either.
 */
bool route_bounce_source(struct copy *copy);

/* Called after the driver's call for a piece: a downloaded piece is still in the buffer. */
void route_bounce_received(struct copy *copy);

/*
 * Gives back the part of the ring and the buffer that the copy holds.  `sent`: the driver has
 * enqueued the piece, as the last work on its stream.
 */
void route_bounce_release(struct copy *copy, bool sent);

#endif
