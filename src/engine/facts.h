/*
 * The facts about one copy: gathered when the plan asks for them, since most copies need few.
 */
#ifndef HP_ENGINE_FACTS_H
#define HP_ENGINE_FACTS_H

#include "engine/copy_state.h"

/*
 * Fills in the facts that cost a few loads.  If the copy has a block, the block is in use until
 * facts_end(), which must follow.
 */
void facts_begin(struct copy *copy);
void facts_end(struct copy *copy);

/* Answers the plan's question, and sets its bit.  May call the driver, and pin the block. */
void facts_answer(struct copy *copy, enum copy_step question);

/*
 * True if all earlier work is complete when a synchronous download to `host` returns.  May call the
 * driver.
 */
bool facts_download_waits(const void *host);

/*
 * Called while deferred copies are in flight.  Notes which of them a synchronous download waits
 * for, and whether the download follows an upload of its own thread.
 */
void facts_see_what_it_waits_for(struct copy *copy);

#endif
