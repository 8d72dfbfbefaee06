/*
 * Decides when to create staging memory and copy workers, and uses them for copies.
 */
#ifndef HP_ENGINE_STAGING_H
#define HP_ENGINE_STAGING_H

#include "engine/plan.h"
#include "engine/request.h"
#include "stage/ring.h"

/* Allows staging memory, within the pin budget.  Called once, after pin_start(). */
void staging_start(void);

/* Returns the number of copy workers for large copies, or how many would be started. */
unsigned staging_workers(void);

/*
 * True if the copy may use staging memory.  Creates staging memory and workers when they pay.  Asks
 * the driver.
 */
bool staging_is_possible(struct copy *copy);

/*
 * Called before hotpin reads the source.  The driver's synchronous copy reads it behind all earlier
 * work, which may write it (engine/visibility.h).  So this function waits for that work.
 */
void staging_wait_for_writers(const struct copy_request *request);

/* Moves as much of the copy through the area as possible.  Returns the number of bytes. */
size_t staging_run(const struct copy_request *request);

/* Copies `bytes`, from `from` on, into the part.  Workers help with many bytes. */
void staging_ring_fill(const struct ring_hold *hold, const void *from, size_t bytes);

#endif
