/*
 * Pinned regions of staging memory: made on demand, ended with the context that registered them.
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

/* Large copies hold units of 2 MiB; more of HOTPIN_RING than so many is not used. */
#define REGION_LARGE_UNIT  ((size_t)2 << 20)
#define REGION_LARGE_UNITS 64

/* Small uploads hold units of 64 KiB, several in a row where one is too small. */
#define REGION_SMALL_UNIT  ((size_t)64 << 10)
#define REGION_SMALL_UNITS 32

/* Contexts that use staging memory at once: two for each device of a large machine. */
#define REGION_USERS       16

enum region_state {
	REGION_NONE,   /* not registered */
	REGION_MAKING, /* a thread registers it */
	REGION_READY,
	REGION_ENDING,  /* its context is about to end */
	REGION_REFUSED, /* not registered, and nobody tries again */
};

struct region {
	_Atomic int state; /* enum region_state; changes under the lock staging */
	char *memory;      /* written in REGION_MAKING; stays mapped for the next owner */

	/* Constant once the state is not REGION_REFUSED for the first time. */
	size_t unit_bytes, event_bytes; /* a unit has an event for each event_bytes of it */
	unsigned units;

	/* Under the lock staging. */
	struct region_user *owner; /* registered by this context, which takes it along */
	unsigned refusals;         /* of the driver */
	uint64_t held;             /* units in use, a bit each: by threads, or in flight */
	unsigned promised;         /* units held by copies that will be left in flight */
	struct flights flights;
};

/* What one context has of staging memory.  Under the lock staging. */
struct region_user {
	CUcontext context; /* NULL: none */
	unsigned long long id;
	unsigned index;        /* as flights name the context; constant */
	uint64_t generation;   /* how many contexts have ended in this place */
	unsigned wanted;       /* small uploads that found no region */
	unsigned pause;        /* so many more small uploads ask for no event */
	CUevent *large_events; /* of each unit; changed by the thread that holds the unit */
	uint64_t large_made;   /* units that have all their events, a bit each */
	CUevent small_events[REGION_SMALL_UNITS]; /* likewise */
	struct region small;
};

/*
 * Staging memory may be made from here on: a large region of `large_bytes` in whole units, and
 * small ones.  Each small region is made once `small_wants` uploads have found none;
 * REGION_NO_SMALL: never.  Once.
 */
#define REGION_NO_SMALL UINT32_MAX
void region_start(uint64_t large_bytes, uint32_t small_wants);

/* Returns the region of large copies; constant. */
struct region *region_large(void);

/* True if there may be small regions.  One load. */
bool region_small_may_be(void);

/*
 * Returns what a context has, from now on if it has had nothing; NULL: too many contexts.  `id` is
 * the context's: a context at the same address with another id has ended unnoticed.  With the lock
 * staging.
 */
struct region_user *region_user(CUcontext context, unsigned long long id);

/* Counts an upload that finds no small region.  True: make it.  With the lock staging. */
bool region_small_is_wanted(struct region_user *user);

/* Returns a context's events for a region; NULL: no memory.  With the lock staging. */
CUevent *region_events(const struct region *region, struct region_user *user);

/*
 * Registers a region in the current context, which is `owner` in its `generation`.  One thread
 * makes a region, others go on without.  False: there is none, for now or for good.  Calls the
 * driver, so no lock may be held.
 */
bool region_make(struct region *region, struct region_user *owner, uint64_t generation);

/*
 * The program is about to destroy, reset or release `context`.  No copy takes units of its regions
 * until region_context_ended().  Waits for threads that hold units of them and for what other
 * contexts have in flight there, ten seconds at most.
 */
void region_context_ending(CUcontext context);

/*
 * The driver has returned.  A context that is `gone` takes its regions, its events and all that it
 * had in flight along.
 */
void region_context_ended(CUcontext context, bool gone);

/* In the child of fork(): there is no staging memory, and there never will be. */
void region_after_fork_child(void);

#endif
