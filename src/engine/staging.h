/*
 * Staging memory and copy workers: when they are made, and how captures keep out of their way.
 */
#ifndef HP_ENGINE_STAGING_H
#define HP_ENGINE_STAGING_H

#include "engine/plan.h"
#include "engine/request.h"
#include "stage/pool.h"
#include "stage/stage.h"

/* Returns the number of copy workers that there are, or would be. */
unsigned staging_workers(void);

/*
 * Answers COPY_ASK_STAGING and COPY_ASK_UNTOUCHED.  The first makes staging memory and workers once
 * they have been earned.  Ask the driver.
 */
bool staging_is_possible(const struct copy_request *request, const struct copy_facts *facts);
bool staging_is_untouched(const struct copy_request *request, const struct copy_facts *facts);

/* Returns the request in the form of stage/stage.h. */
struct stage_copy staging_describe(const struct copy_request *request);

/* Answers COPY_ASK_CUTS. */
bool staging_may_cut(const struct copy_request *request);

/*
 * Moves as much of the copy through staging memory as possible.  Returns the number of bytes, and
 * whether the last of them are still in flight.
 */
size_t staging_run(const struct copy_request *request, bool returns_early, bool *ret_in_flight);

/*
 * Brackets calls that enqueue our work on the program's streams: a section without cancellation.
 * False: a capture is active, and nothing may be enqueued.  staging_leave() follows in any case.
 */
bool staging_enter(void);
void staging_leave(void);

/*
 * Takes small-copy slots for `bytes` that are about to be enqueued.  True: no capture begins before
 * staging_slot_end(); `sent` there: a copy out of the slots has been enqueued, as the last work on
 * its stream.
 */
bool staging_slot_take(const struct copy_request *request, size_t bytes, struct pool_hold *ret);
void staging_slot_end(struct pool_hold *hold, bool sent);

/* Called when a capture is about to begin and is counted: waits for sections that have begun. */
void staging_settle(void);

#endif
