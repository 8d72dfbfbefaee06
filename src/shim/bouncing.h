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
 * The piece is taken from a copy of it, in copy->pocket or copy->bounce until shim_bounce_end():
 * the device reads the one, the driver stages the other inside the call.  Where the kernel has no
 * memory for either the copy takes its fallback.
 */
void shim_bounce(struct shim_copy *copy);

/*
 * `sent`: the driver has taken it, as the last thing on the copy's stream.  Does
 * nothing for a copy that holds neither.
 */
void shim_bounce_end(struct shim_copy *copy, bool sent);

#endif
