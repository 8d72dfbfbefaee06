/*
 * Which copy pins its block, and how: whole, by pipelined registration, or in the background.
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
	size_t counts;       /* bytes of the copy at hand */
	uint64_t ns;         /* time of registering */
	size_t done;         /* bytes registered, from the base on */
	int refused;         /* a CUresult */
};

/*
 * Called before a copy of `bytes` between the block and the device, in the thread that copies,
 * with its context current.  Counts the bytes of the copy, and pins the block if that
 * pays.  True if the block is pinned by us when the copy runs.  Calls the driver, which does not
 * wait for the device; holds no lock.
 *
 * `ret_pipeline` is NULL, or all zero if the block may be registered in segments.  If its block is
 * set on return, the caller registers the segments by the functions below.  The caller must be
 * inside pin_copies.
 */
bool pin_before_copy(struct block *block, bool to_device, size_t bytes,
		     struct pin_pipeline *ret_pipeline);

/* Registers the segments up to the one that holds `address`.  False: the driver refuses. */
bool pin_pipeline_reach(struct pin_pipeline *pipeline, const void *address);

/*
 * Registers the remaining segments, and ends the pipeline.  True: the block is pinned.  If the
 * driver refuses, now or before, unregisters the block, which waits for the copies in flight.
 */
bool pin_pipeline_end(struct pin_pipeline *pipeline);

/* The same in one registration, before the first segment is registered. */
bool pin_pipeline_whole(struct pin_pipeline *pipeline);

/*
 * Pins queued blocks until at least `bytes_most` bytes are done or the queue is empty.  Calls the
 * driver, which does not wait for the device; holds no lock.  Makes the queued context current for
 * each block; no context is current on return.  Returns the bytes pinned.
 */
size_t pin_in_background(size_t bytes_most);

#endif
