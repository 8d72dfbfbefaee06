/*
 * Decides when to create staging memory and copy workers, and uses them for copies.
 */
#ifndef HP_ENGINE_STAGING_H
#define HP_ENGINE_STAGING_H

#include "engine/plan.h"
#include "engine/request.h"
#include "stage/pool.h"
#include "stage/stage.h"

/* Allows staging memory, within the pin budget.  Called once, after pin_start(). */
void staging_start(void);

/* In the child of fork(), where CUDA does not work and the workers do not exist.  Takes no lock. */
void staging_after_fork_child(void);

/* Returns the number of copy workers, or how many would be started. */
unsigned staging_workers(void);

/*
 * Answer COPY_ASK_STAGING and COPY_ASK_UNTOUCHED.  The first creates staging memory and workers
 * when they pay.  Both ask the driver.
 */
bool staging_is_possible(const struct copy_request *request, const struct copy_facts *facts);
bool staging_is_untouched(const struct copy_request *request, const struct copy_facts *facts);

/*
 * Moves as much of the copy through staging memory as possible.  Returns the number of bytes, and
 * whether the last of them are still in flight.
 */
size_t staging_run(const struct copy_request *request, bool returns_early, bool *ret_in_flight);

/*
 * Takes small-copy slots for an upload of `bytes`.  True: no capture begins before
 * staging_slot_end(), which must follow.  `sent`: a copy from the slots is the last work on its
 * stream.  False: no slots are free now, or a capture is active.
 */
bool staging_slot_take(const struct copy_request *request, size_t bytes, struct pool_hold *ret);
void staging_slot_end(struct pool_hold *hold, bool sent);

#endif
