/*
 * Sources that are sent from a copy of theirs.
 */
#ifndef HP_ENGINE_ROUTE_BOUNCE_H
#define HP_ENGINE_ROUTE_BOUNCE_H

#include "engine/route.h"

/*
 * Copies the source of the piece, and lets copy->from point there: into small-copy slots, which the
 * device reads, or into a bounce buffer, which the driver stages inside its call.  False: there is
 * no memory for either.
 */
bool route_bounce_source(struct copy *copy);

/*
 * Gives slots and buffer back; nothing happens for a copy that holds neither.  `sent`: the driver
 * has taken the piece, as the last work on its stream.
 */
void route_bounce_release(struct copy *copy, bool sent);

extern const struct route route_bounce;

#endif
