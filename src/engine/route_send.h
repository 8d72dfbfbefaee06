/*
 * A copy of a block in several registrations, which this copy may be making.
 */
#ifndef HP_ENGINE_ROUTE_SEND_H
#define HP_ENGINE_ROUTE_SEND_H

#include "engine/route.h"

extern const struct route route_send;

#endif
