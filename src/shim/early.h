/*
 * May an upload of a pinned block come back before the block has been read, and does it?
 *
 * Only with HOTPIN_ASYNC=all.
 */
#ifndef HP_SHIM_EARLY_H
#define HP_SHIM_EARLY_H

#include "shim/copy.h"

/*
 * `copy` has its place.  True: shim_early_sent() is the next call for it.  Asks the driver, last of
 * all things.
 */
bool shim_early_wanted(struct shim_copy *copy);

/*
 * True: it has been enqueued, copy->result is set, and whoever writes to the source waits.  False:
 * nothing has happened, run it as ever.
 */
bool shim_early_sent(struct shim_copy *copy);

#endif
