/*
 * May a synchronous copy from the device come back before its data is there, and does it?
 *
 * Only with HOTPIN_ASYNC=all.
 */
#ifndef HP_SHIM_FETCHING_H
#define HP_SHIM_FETCHING_H

#include "defer/fetch.h"
#include "shim/closing.h"
#include "shim/copy.h"

/* What closing its block would be refused for, whichever way it goes: defer/fetch.h. */
enum fetch_refusal shim_fetch_refusal(const struct shim_copy *copy);

/*
 * A linear synchronous copy from the device into a pinned block, not begun.  True: it has been
 * enqueued, copy->result is set, and whoever touches the destination waits.  False: run it as ever.
 */
bool shim_fetch_deferred(struct shim_copy *copy);

/*
 * The copy is over and was waited for, and shim_fetch_deferred() wants to see how soon its
 * destination is touched: closes that.
 */
void shim_fetch_ended(struct shim_copy *copy);

#endif
