/*
 * Counts launches of kernels and graphs by their call site in the program.
 *
 * Memory is bounded, about 100 KiB.  When there is no room for another place, its launches are
 * counted without a place.
 */
#ifndef HP_TRACE_CALLS_LAUNCHES_H
#define HP_TRACE_CALLS_LAUNCHES_H

#include "trace/places/frames.h"

#define LAUNCHES_MOST 512u /* a power of two */

struct launch_site {
	uint64_t count, host_ns; /* calls, and the time in them */
	struct frames_place place;
};

/* Returns 0 or -ENOMEM.  Once a process.  Does not call frames_start(). */
int launches_start(void);

/*
 * Adds one call that took `took_ns`, and names its way.  Returns the number of its place;
 * LAUNCHES_MOST: it has none.  Any thread, no lock of ours held.
 */
uint32_t launches_called(struct frames_way *way, uint64_t took_ns);

/* The calls without a place.  Reads a place, from 0 on; false: there is none.  Take the lock
 * `trace`. */
uint64_t launches_lost(void);
bool launches_read(size_t index, struct launch_site *ret);

#endif
