/*
 * The waits that pageable memory implies: when an asynchronous copy returns, the program may
 * overwrite the source, or read the destination.
 */
#ifndef HP_ENGINE_ROUTE_WAIT_H
#define HP_ENGINE_ROUTE_WAIT_H

#include "engine/copy_state.h"

/* Waits for the stream, after a call that may return before its transfer has completed. */
void route_wait_for_stream(struct copy *copy);

/*
 * Called before hotpin reads the source.  The driver's synchronous copy reads it behind all earlier
 * work, which may include a host function that writes it.  So this function waits for that work.
 */
void route_wait_for_writers(const struct copy *copy);

#endif
