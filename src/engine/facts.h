/*
 * The facts about one copy: gathered when the plan asks for them, since most copies need few.
 */
#ifndef HP_ENGINE_FACTS_H
#define HP_ENGINE_FACTS_H

#include "engine/copy_state.h"

/*
 * Fills in the facts that cost a few loads.  The planner's question for COPY_HOST_MEMORY then
 * enters the block, until pin_leave().
 */
void facts_begin(struct copy *copy);

/*
 * Called if a route could not carry out a copy that is not inside its block: enters the block.  If
 * another thread has taken it, the result is PIN_TAKEN, or `waits`: waits first.
 */
void facts_enter(struct copy *copy, bool waits);

/*
 * Called while deferred copies are in flight.  Notes which of them a synchronous download waits
 * for, and whether the download follows an upload of its own thread.
 */
void facts_see_what_it_waits_for(struct copy *copy);

#endif
