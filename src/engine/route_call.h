/*
 * The routes that run the program's call on the whole range.
 */
#ifndef HP_ENGINE_ROUTE_CALL_H
#define HP_ENGINE_ROUTE_CALL_H

#include "engine/route.h"

/* Nothing is pinned until the copy ends. */
void route_hold(struct copy *copy);

extern const struct route route_pass, route_direct, route_unpin;

#endif
