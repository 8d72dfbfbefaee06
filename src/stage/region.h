/*
 * Pinned regions of staging memory.  A region is created on demand, and its registration ends with
 * the context that made it.
 *
 * Two limits keep large and small copies from starving each other: large copies of all contexts
 * share one region, small uploads of each context have a region of their own.  Each region is
 * registered once, for all contexts (PORTABLE).  It counts against the pin budget with all its
 * bytes from before its registration until that has failed or ended (pin_take_staging()).
 *
 * Only this room uses the structs.
 */
#ifndef HP_STAGE_REGION_H
#define HP_STAGE_REGION_H

#include "real/real.h"
#include "stage/flights.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Units of large copies, and their largest number, regardless of what HOTPIN_RING says. */
#define REGION_LARGE_UNIT  ((size_t)2 << 20)
#define REGION_LARGE_UNITS 64

/* Units of small uploads.  An upload takes several adjacent units if one is too small. */
#define REGION_SMALL_UNIT  ((size_t)64 << 10)
#define REGION_SMALL_UNITS 32

/* The most contexts that use staging memory at once: two for each device of a large machine. */
#define REGION_USERS       16

enum region_state {
	REGION_NONE,   /* not registered */
	REGION_MAKING, /* a thread registers it */
	REGION_READY,
	REGION_ENDING,  /* its context is about to end */
	REGION_REFUSED, /* not registered, and not tried again */
};

struct region {
	_Atomic int state; /* enum region_state; changes under the lock staging */
	char *memory;      /* written in REGION_MAKING; stays mapped for the next owner */

	/* Constant once the state has changed from the initial REGION_REFUSED. */
	size_t unit_bytes, event_bytes; /* a unit has an event for each event_bytes of it */
	unsigned units;

	/* Under the lock staging. */
	struct region_user *owner; /* registered by this context; the registration ends with it */
	unsigned refusals;         /* by the driver */
	uint64_t held;             /* units in use, a bit each: by threads, or in flight */
	unsigned promised;         /* units held by copies that will be left in flight */
	struct flights flights;
};

/* The staging memory of one context.  Under the lock staging. */
struct region_user {
	CUcontext context; /* NULL: none */
	unsigned long long id;
	unsigned index;        /* the context's number in flights; constant */
	uint64_t generation;   /* how many contexts of this record have ended */
	unsigned wanted;       /* small uploads that found no region */
	unsigned pause;        /* the number of small uploads that poll no event from now on */
	CUevent *large_events; /* of each unit; changed by the thread that holds the unit */
	uint64_t large_made;   /* units that have all their events, a bit each */
	CUevent small_events[REGION_SMALL_UNITS]; /* of each small unit; changed by its holder */
	struct region small;
};

/*
 * Allows staging memory: a large region of `large_bytes`, in whole units, and small regions.  Each
 * small region is made after `small_wants` uploads have found none; REGION_NO_SMALL: never.  Called
 * once.
 */
#define REGION_NO_SMALL UINT32_MAX
void region_start(uint64_t large_bytes, uint32_t small_wants);

/* Returns the region of large copies; constant. */
struct region *region_large(void);

/* True if there may be small regions.  One load. */
bool region_small_may_be(void);

/*
 * Returns the context's record, a new one if needed; NULL: too many contexts.  If the record at
 * this address has another `id`, the earlier context has ended unnoticed.  Requires the lock
 * staging.
 */
struct region_user *region_user(CUcontext context, unsigned long long id);

/*
 * Counts an upload that finds no small region.  True: the caller makes it.  Requires the lock
 * staging.
 */
bool region_small_is_wanted(struct region_user *user);

/* Returns the context's events for the region; NULL: no memory.  Requires the lock staging. */
CUevent *region_events(const struct region *region, struct region_user *user);

/*
 * Registers a region in the current context, which is `owner` in its `generation`.  While one
 * thread makes a region, others continue without.  False: there is no region, for now or for good.
 * Calls the driver, so no lock may be held.
 */
bool region_make(struct region *region, struct region_user *owner, uint64_t generation);

/*
 * Called before the program destroys, resets or releases `context`.  No copy takes units of its
 * regions until region_context_ended().  Waits until no thread holds such units and no other
 * context has work in flight there, ten seconds at most.
 */
void region_context_ending(CUcontext context);

/*
 * Called after the driver has returned.  If the context is `gone`, so are the registrations of its
 * regions, its events and its work: their bytes go back to the pin budget, and units in flight are
 * free.  The memory stays mapped for the next owner.
 */
void region_context_ended(CUcontext context, bool gone);

/*
 * Unregisters the regions of which no unit is in use; they can be made again.  Waits for running
 * kernels; no lock may be held.  Returns the bytes unregistered.
 */
size_t region_give_back(void);

/* In the child of fork(): there will be no staging memory. */
void region_after_fork_child(void);

#endif
