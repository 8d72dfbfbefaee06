/*
 * Decides whether a copy may be staged, by the owners of its memory.
 *
 * In doubt the copy may not; the driver's own call then reports invalid arguments.
 */
#ifndef HP_STAGE_STAGEABLE_H
#define HP_STAGE_STAGEABLE_H

#include "stage/stage.h"

/*
 * True if the copy may be staged: the current context is the stream's; the whole device side is one
 * allocation of that context and not managed memory; the host side is neither pinned, managed nor
 * on a device.  Asks the driver (counted).
 */
bool stage_is_possible(const struct stage_copy *copy);

/*
 * True if the driver has recently said that it knows the memory at `host`.  Calls no driver
 * function.  If that memory is gone, the copy is slower but correct.
 */
bool stage_was_registered(const void *host);

#endif
