/*
 * Sources that the driver takes in before its call returns, as it does with pageable memory.
 */
#ifndef HP_SHIM_BOUNCING_H
#define HP_SHIM_BOUNCING_H

#include "shim/copy.h"

/*
 * shim_copy_behind_work(), or has the legacy stream not, behind which it comes?  A stream without
 * work of its own says that it has none, whatever it would wait for.
 */
bool shim_copy_held_up(const struct shim_copy *copy);

/* The second half of that: two calls of the driver's, none for copies of the legacy stream. */
bool shim_copy_behind_legacy(const struct shim_copy *copy);

/*
 * We are about to read the source ourselves.  A synchronous copy of the driver's reads it behind
 * all earlier work, which a function of the program's may be part of.
 */
void shim_wait_for_writers(const struct shim_copy *copy);

/*
 * The piece is taken from pageable memory, in copy->seat until shim_bounce_end(): the driver stages
 * it inside the call.  Without a seat it is waited for.
 */
void shim_bounce(struct shim_copy *copy);
void shim_bounce_end(struct seat *seat);

#endif
