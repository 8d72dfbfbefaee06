/*
 * The promises of pageable memory: an asynchronous copy returns with its source free, or its data
 * there.
 */
#ifndef HP_ENGINE_ROUTE_WAIT_H
#define HP_ENGINE_ROUTE_WAIT_H

#include "engine/copy_state.h"

/* Waits for the stream if the program's call did not. */
void route_wait_for_stream(struct copy *copy);

/* Likewise, if another thread has pinned the block while the call ran. */
void route_wait_if_pinned(struct copy *copy);

/*
 * The source is about to be read by us.  A synchronous copy of the driver's reads it behind all
 * earlier work, which may include a host function that writes it; so waits for that work.
 */
void route_wait_for_writers(const struct copy *copy);

#endif
