/*
 * The pool of staging memory: pinned units that copies take, pass through and put back.
 *
 * A copy holds its units from take to put, so no copy waits for another's: where too few are free,
 * the copy goes without.  Units may be left in flight behind an event; later copies poll it.
 */
#ifndef HP_STAGE_POOL_H
#define HP_STAGE_POOL_H

#include "stage/region.h"

/* A large copy never holds more units: 16 MiB are as fast as 64. */
#define POOL_SHARE_MOST  8

/* A small region is made once so many uploads have found none. */
#define POOL_SMALL_WANTS 8

/* Units that one copy holds. */
struct pool_hold {
	char *memory; /* of the first unit; NULL: nothing is held */
	CUstream stream;
	bool per_thread;

	/* Of pool.c. */
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

/* True if large copies can take units now; true if they can, or may later.  One load each. */
bool pool_is_ready(void);
bool pool_may_be(void);

/*
 * Makes the region of large copies, in some milliseconds.  Any thread; one makes it, others go on
 * without.  False: there is none, for now or for good.  Calls the driver, holding no lock.
 */
bool pool_make(void);

/*
 * Takes between `least` and `most` units with their events for a large copy on `stream`;
 * `per_thread`: NULL means the thread's own stream.  At most half of what is free, unless `least`
 * is more, so that the next copy finds some, too.  False: there are too few, the stream is another
 * context's, or events cannot be had; with `leaves` also where pool_leave() could not succeed
 * afterwards.
 */
bool pool_take_large(unsigned least, unsigned most, bool leaves, CUstream stream, bool per_thread,
		     struct pool_hold *ret);

/*
 * Takes units in a row for a small upload of `bytes`, at least 1, on `stream`.  Calls the driver,
 * holding no lock; no capture may live.  False: there are none now, or the stream is another
 * context's.
 */
bool pool_take_small(size_t bytes, CUstream stream, bool per_thread, struct pool_hold *ret);

/* Puts the units back, if any are held.  The device no longer uses them. */
void pool_put(struct pool_hold *hold);

/*
 * Leaves the units in flight until `event`, the event of one of their pieces, which has been
 * recorded behind all that uses them.  NULL: records one on the hold's stream now; units that no
 * event can be recorded for stay unused until their context ends.
 *
 * False: the caller still holds the units, since no more than half of the large region is in flight
 * at once, and none where its context is about to end.  Always true for small uploads.
 */
bool pool_leave(struct pool_hold *hold, CUevent event);

/* Return memory and event of piece `index` of `bytes` each, a power of two. */
char *pool_memory(const struct pool_hold *hold, size_t bytes, size_t index);
CUevent pool_event(const struct pool_hold *hold, size_t bytes, size_t index);

/* Returns how many pieces a hold has room for at once. */
size_t pool_room(const struct pool_hold *hold, size_t bytes);

#endif
