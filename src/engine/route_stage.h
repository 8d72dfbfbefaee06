/* A copy through pinned staging memory. */
#ifndef HP_ENGINE_ROUTE_STAGE_H
#define HP_ENGINE_ROUTE_STAGE_H

#include "engine/route.h"

extern const struct route route_stage;

#endif
