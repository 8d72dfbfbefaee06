/*
 * A small synchronous upload that returns before the transfer has completed.
 */
#ifndef HP_ENGINE_ROUTE_DEFER_H
#define HP_ENGINE_ROUTE_DEFER_H

#include "engine/route.h"

extern const struct route route_defer;

#endif
