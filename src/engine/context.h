/*
 * The end of a context, by a call of the program that destroys, resets or releases it.
 */
#ifndef HP_ENGINE_CONTEXT_H
#define HP_ENGINE_CONTEXT_H

#include "real/real.h"

#include <stdbool.h>

/*
 * Bracket the driver's call, in one thread, without a lock.  `gone`: the context has ended;
 * otherwise it still exists.  context_ending() waits for copies of the blocks that hotpin has
 * pinned in the context, without a limit.
 */
void context_ending(CUcontext context);
void context_ended(CUcontext context, bool gone);

#endif
