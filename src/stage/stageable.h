/*
 * Whether a copy may be staged, or cut into several calls: whose memory is on its sides.
 *
 * In doubt a copy may not.  The driver's own call then finds out what is wrong with its arguments.
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

/* True if the copy may be cut into calls on its stream.  As above, but the host side is ours. */
bool stage_may_cut(const struct stage_copy *copy);

/*
 * True if one driver call carries out the copy, a download, and itself reports what is wrong with
 * it.  No call into the driver.
 */
bool stage_is_one_call(const struct stage_copy *copy);

/*
 * True if the device side lies within memory that the driver has given out to anybody.  The driver
 * refuses any other copy as a whole.  Asks the driver (counted).
 */
bool stage_fits(const struct stage_copy *copy);

/*
 * True if this thread has lately found `host` in memory that the driver knows.  No call into the
 * driver.  That memory may be gone, which makes a copy slow, not wrong.
 */
bool stage_was_registered(const void *host);

/* True if the memory is untouched, judged by a few samples.  Some system calls; errno is kept. */
bool stage_is_untouched(const void *address, size_t bytes);

#endif
