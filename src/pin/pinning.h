/*
 * Pins one block: whole, or by pipelined registration.
 */
#ifndef HP_PIN_PINNING_H
#define HP_PIN_PINNING_H

#include "heap/block.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A block whose segments are registered while those registered before are copied.  Owned by one
 * thread, from pin_before_copy() to pin_pipeline_end().
 */
struct pin_pipeline {
	struct block *block; /* NULL: none */
	uintptr_t context;   /* the current context */
	uint64_t gain;       /* copy cost of the copy at hand, ns */
	uint64_t ns;         /* spent on registering */
	size_t done;         /* bytes registered, from the base on */
	int refused;         /* a CUresult */
};

/*
 * Pins the whole block if possible.  `context` is current in this thread.  Calls the driver: no
 * lock may be held.
 */
bool pin_whole(struct block *block, uintptr_t context);

/*
 * Begins to pin the block by segments, for a copy that costs `gain` more pageable.  True: the
 * block is pinned whole, and ret->block is NULL.  False, with ret->block set: the copy registers
 * the segments.
 */
bool pin_pipeline_begin(struct pin_pipeline *ret, struct block *block, uintptr_t context,
			uint64_t gain);

/* Registers the segments up to the one that holds `address`.  False: the driver refuses. */
bool pin_pipeline_reach(struct pin_pipeline *pipeline, const void *address);

/*
 * Registers the remaining segments.  True: the block is pinned.  If the driver refuses, now or
 * before, unregisters the block, which waits for the copies in flight.
 */
bool pin_pipeline_end(struct pin_pipeline *pipeline);

/* Adds the cost of a pageable copy, `gain` ns more than a pinned one, to the block. */
void pin_add_copy_cost(struct block *block, uint64_t gain);

#endif
