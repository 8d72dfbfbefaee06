/*
 * Chooses how one copy is carried out.  Pure, except that it asks for facts.
 *
 * All figures were measured on an H200 (PCIe 5 x16, driver 580.159, CUDA 13.0).
 */
#ifndef HP_ENGINE_PLAN_H
#define HP_ENGINE_PLAN_H

#include "pin/use.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COPY_KIB               ((size_t)1 << 10)
#define COPY_MIB               ((size_t)1 << 20)

/*
 * The borders between routes (doc/measurements.md#borders).  Names in _MOST are the largest size,
 * others the smallest.
 */

/* Asynchronous uploads of pageable memory that block until earlier work is complete. */
#define COPY_BLOCKS_FROM       (4 * COPY_MIB)
/* Synchronous uploads of pinned memory that are bounced; their source is copied to the stack. */
#define COPY_STAGED_MOST       (16 * COPY_KIB)
/* Asynchronous ones that are bounced on an idle stream; behind work, below COPY_BLOCKS_FROM. */
#define COPY_BOUNCE_MOST       (128 * COPY_KIB)
/* Synchronous uploads that may be deferred. */
#define COPY_DEFER_MOST        (128 * COPY_KIB)
/* Those of pinned memory that are deferred on an idle stream, too. */
#define COPY_DEFER_PINNED_MOST (64 * COPY_KIB)
/* Synchronous uploads of pageable memory that do not wait for work on the legacy stream. */
#define COPY_LEGACY_MOST       (64 * COPY_KIB)
/* Uploads into the ring that copy workers help with. */
#define COPY_FILL_LEAST        (512 * COPY_KIB)
/* Copies of pageable memory that are staged.  HOTPIN_ROUTE has other limits. */
#define COPY_STAGE_H2D_LEAST   (16 * COPY_MIB)
#define COPY_STAGE_ASYNC_LEAST (8 * COPY_MIB) /* asynchronous H2D */
#define COPY_STAGE_D2H_LEAST   (32 * COPY_KIB)
/* Copies between unknown addresses for which asking the driver about them pays. */
#define COPY_DIRECTION_LEAST   COPY_MIB
/*
 * The number of uploads of pinned memory above COPY_STAGED_MOST that are deferred only behind other
 * work, after their thread has downloaded right after a deferred upload: without that a pair of
 * both takes longer (doc/measurements.md#slot-pair).
 */
#define COPY_FOLLOWED          16
/* Staging memory is made once the copies that passed without it would have gained its cost. */
#define COPY_STAGING_COST_NS   2000000u

struct copy;

/* In the order of HOTPIN_ROUTE; engine/route.c carries them out. */
enum copy_route {
	COPY_AUTO,   /* no route: the planner chooses */
	COPY_PASS,   /* the program's call, unchanged */
	COPY_DIRECT, /* as COPY_PASS; the device reads or writes the pinned block itself.  An
		      * asynchronous call waits for its stream: a copy of pageable memory returns
		      * when its source may change or its data is there */
	COPY_BOUNCE, /* from a copy of the source: in a bounce buffer that the driver stages inside
		      * the call, or in the staging ring */
	COPY_STAGE,  /* through pinned staging memory that copy workers fill or empty */
	COPY_DEFER,  /* an asynchronous copy in place of a synchronous upload, from pageable memory
		      * or the staging ring; returns before the transfer has completed */
	COPY_UNPIN,  /* unpins the host side, then the program's call */
	COPY_ROUTES
};

/* The facts that cost time or have side effects. */
enum copy_fact {
	COPY_IS_CAPTURED,   /* the stream is being captured */
	COPY_IS_DEFERRABLE, /* a synchronous upload may return early */
	/*
	 * enum pin_use: enters the block of the host side, if it begins in one.  Counts the copy,
	 * and pins the block if that pays now.  If the copy of a pinned block ends outside of it,
	 * the driver refuses it; it gets no address in a block that another thread has taken.
	 */
	COPY_HOST_MEMORY,
	COPY_IS_BUSY,          /* the stream has work left */
	COPY_IS_BEHIND_LEGACY, /* the legacy stream has, and the stream waits for it */
	COPY_IS_STAGEABLE,     /* staging memory may be used; makes it when it pays */
	COPY_WORKERS,          /* the number of copy workers, started or not */
	/*
	 * An asynchronous copy to host memory that looked like an upload: the driver reads the
	 * source behind earlier work, which may write it (H200, driver 580.159).  Uploads to device
	 * and managed memory begin to read at once, of any size.
	 */
	COPY_READS_LATE,
	COPY_FACTS
};

struct copy_facts {
	/* Known from the start. */
	bool captures;          /* a stream capture is active in the process */
	bool may_defer;         /* HOTPIN_ASYNC */
	bool downloads_follow;  /* this thread downloads right after its uploads */
	enum copy_route forced; /* HOTPIN_ROUTE */

	uint8_t known;               /* a bit for each value that has been found */
	unsigned values[COPY_FACTS]; /* 0: false, or not asked for */

	/*
	 * Finds a fact.  The planner asks for each at most once, and only if it can change the
	 * route.  engine/copy.c has the function; test_plan.c has its own.
	 */
	unsigned (*find)(struct copy *copy, enum copy_fact fact);
};

/* Returns the route. */
enum copy_route copy_plan(struct copy *copy);

/*
 * Returns the route for the rest of a copy that its route could not carry out.  It needs no memory
 * of hotpin's, so it cannot fail, except COPY_BOUNCE of a block that another thread has taken.
 */
enum copy_route copy_plan_fallback(const struct copy *copy);

/* Returns what staging saves this copy, ns; 0: nothing, or staging memory must not be used. */
uint64_t copy_stage_gain_ns(struct copy *copy);

/* Returns the size from which on a copy of pageable memory may be staged. */
static inline size_t copy_stage_least(bool to_device, bool asynchronous)
{
	if (!to_device)
		return COPY_STAGE_D2H_LEAST;
	return asynchronous ? COPY_STAGE_ASYNC_LEAST : COPY_STAGE_H2D_LEAST;
}

/*
 * True if the copy would be faster from pinned memory.  False if the driver stages pageable memory
 * and returns at once: waiting for a pinned copy could only be slower.
 */
bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes);

#endif
