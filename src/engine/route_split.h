/*
 * One call for each registration that the range touches.
 */
#ifndef HP_ENGINE_ROUTE_SPLIT_H
#define HP_ENGINE_ROUTE_SPLIT_H

#include "engine/route.h"

extern const struct route route_split;

#endif
