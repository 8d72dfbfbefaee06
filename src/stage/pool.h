/*
 * The pool of staging memory: pinned units that copies take, pass through and put back.
 *
 * A copy holds units from pool_take_..() to pool_put().  No copy waits for the units of another: if
 * too few are free, the copy takes its fallback.  Units may be left in flight behind an event,
 * which later copies poll.
 */
#ifndef HP_STAGE_POOL_H
#define HP_STAGE_POOL_H

#include "stage/region.h"

/* The most units that a large copy holds: 16 MiB are as fast as 64. */
#define POOL_SHARE_MOST  8

/* A context's small region is made after so many uploads have found none. */
#define POOL_SMALL_WANTS 8

/* Units that one copy holds.  Used only by the thread that makes the copy. */
struct pool_hold {
	char *memory; /* of the first unit; NULL: nothing is held */
	CUstream stream;
	bool per_thread;

	/* For pool.c only. */
	struct region *region;
	struct region_user *user;
	uint64_t generation; /* of the user when the units were taken */
	uint64_t units;      /* a bit each */
	unsigned count;      /* of units */
	uint64_t before;     /* flights up to it were left before the units were taken */
	unsigned long long stream_id;
	CUevent *events; /* the user's, of the region */
	bool promised;   /* the units will be left in flight */
};

/* True if large copies can take units now; true if they can now or later.  One load each. */
bool pool_is_ready(void);
bool pool_may_be(void);

/*
 * Makes the region of large copies, in some milliseconds.  Any thread; while one thread makes it,
 * others continue without.  False: there is no region, for now or for good.  Calls the driver,
 * holding no lock.
 */
bool pool_make(void);

/*
 * Takes between `least` and `most` units with their events for a large copy on `stream`;
 * `per_thread`: NULL means the thread's own stream.  Takes at most half of the free units, unless
 * `least` is more, so that the next copy finds some, too.  False: there are too few, the stream is
 * another context's, or events cannot be had; with `leaves` also where pool_leave() could not
 * succeed afterwards.
 */
bool pool_take_large(unsigned least, unsigned most, bool leaves, CUstream stream, bool per_thread,
		     struct pool_hold *ret);

/*
 * Takes adjacent units for a small upload of `bytes` (not 0) on `stream`.  Calls the driver,
 * holding no lock; no capture may be active.  False: none are free now, or the stream belongs to
 * another context.
 */
bool pool_take_small(size_t bytes, CUstream stream, bool per_thread, struct pool_hold *ret);

/* Puts the units back, if any are held.  The device no longer uses them. */
void pool_put(struct pool_hold *hold);

/*
 * Leaves the units in flight until `event` is complete: the event of one of their pieces, recorded
 * behind all work that uses them.  NULL: records one on the hold's stream now.  If that fails, the
 * units stay unused until their context ends.
 *
 * False: the caller still holds the units.  This happens if half of the large region is in flight
 * already, or if its context is about to end.  Always true for small uploads.
 */
bool pool_leave(struct pool_hold *hold, CUevent event);

/* Return memory and event of piece `index` of `bytes` each, a power of two. */
char *pool_memory(const struct pool_hold *hold, size_t bytes, size_t index);
CUevent pool_event(const struct pool_hold *hold, size_t bytes, size_t index);

/* Returns how many pieces fit into the hold at once. */
size_t pool_room(const struct pool_hold *hold, size_t bytes);

#endif
