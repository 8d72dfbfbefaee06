/*
 * Chooses how one copy is carried out.  Pure, except that it asks for facts.
 *
 * All figures were measured on an H200 (PCIe 5 x16, driver 580.159, CUDA 13.0).
 */
#ifndef HP_ENGINE_PLAN_H
#define HP_ENGINE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copy;

/* The routes, in the order of HOTPIN_ROUTE; engine/route_*.c carry them out. */
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

/* The kind of the block's memory, where the host side begins in a block of the heap. */
enum copy_host_memory {
	COPY_PAGEABLE, /* not asked for, or not pinned by hotpin */
	COPY_PINNED,   /* if the copy ends outside the block, the driver refuses it */
	COPY_TAKEN,    /* another thread has taken it: the driver gets no address in it */
};

/* The facts that cost time or have side effects. */
enum copy_fact {
	COPY_IS_CAPTURED,      /* the stream is being captured */
	COPY_IS_DEFERRABLE,    /* a synchronous upload may return early */
	COPY_HOST_MEMORY,      /* counts the copy, and pins its block if that pays now */
	COPY_IS_BUSY,          /* the stream has work left */
	COPY_IS_BEHIND_LEGACY, /* the legacy stream has, and the stream waits for it */
	COPY_IS_STAGEABLE,     /* staging memory may be used; makes it when it pays */
	COPY_WORKERS,          /* the number of copy workers, started or not */
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
	 * route.  engine/facts.c has the function; test_plan.c has its own.
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

/*
 * From this size on an asynchronous H2D copy of pageable memory blocks until all earlier work on
 * its stream has completed; 1 MiB and less is staged at once, even behind a kernel.  The driver's
 * own threshold is between 1 MiB and this size.
 */
#define COPY_BLOCKS_FROM  ((size_t)4 << 20)

/*
 * Up to this size a synchronous upload of pinned memory is bounced, and the driver stages the copy.
 * That beats a direct copy and its wait: 5.8 and 6.4 us at 64 B.
 */
#define COPY_STAGED_MOST  ((size_t)16 << 10)

/*
 * Up to this size an asynchronous upload of pinned memory is bounced whether or not its stream has
 * work.  Behind work, uploads below COPY_BLOCKS_FROM are bounced.  On an idle stream, us until
 * the call returns and until the copy is complete, by a program that makes these calls without
 * hotpin:
 *
 *	                 32 KiB      64 KiB      128 KiB     256 KiB
 *	plain            3.8  12.4   7.0  18.0   10.5 20.8   18.3 30.9
 *	bounce buffer    4.6  13.2   8.8  18.0   14.2 24.4   26.3 39.0
 *	pinned slot      3.0  12.9   4.7  16.0   7.3  21.1   12.8 32.6
 *	direct and wait  9.0  12.3   9.6  12.9   10.8 14.2   13.1 16.4
 *
 * The ring has replaced the pinned slots, which were units of 64 KiB with an event each.
 */
#define COPY_SLOTS_MOST   ((size_t)128 << 10)

/*
 * Up to this size a synchronous upload may be deferred.  The driver stages some 4 MiB of such
 * asynchronous copies at once, even behind a kernel.  From 256 KiB on the second copy blocks.
 * Synchronous and deferred, us:
 *
 *	            16 KiB        32 KiB        64 KiB        128 KiB
 *	idle        4.2   3.4     4.9   4.1     7.6   6.2     10.6  9.2
 *	in a row    8.5   3.4     11.1  3.8     17.8  7.2     21.4  12.6
 *	behind work 8.5   3.8     8.8   3.8     12.8  6.2     15.7  9.5
 *
 * Through large staging memory, idle: 15 (64 KiB) and 22 (128 KiB).
 */
#define COPY_DEFER_MOST   ((size_t)128 << 10)

/*
 * Up to this size a synchronous upload of pageable memory on an empty stream returns at once.  It
 * does not wait for work on the legacy stream, although it is ordered behind that work.
 */
#define COPY_LEGACY_MOST  ((size_t)64 << 10)

/*
 * Up to this size pinned memory is bounced and deferred on an idle stream, too.  64 KiB
 * take 8.7 us plain, 10.0 direct, 5.8 through a slot; 128 KiB 12.2, 10.8 and 7.1, but are
 * complete after 22.3, 14.2 and 21.5.
 */
#define COPY_DEFER_PINNED ((size_t)64 << 10)

/*
 * After a thread has downloaded right after a deferred upload, so many of its uploads of pinned
 * memory above COPY_STAGED_MOST are deferred only behind other work.  One upload and one download
 * of 64 KiB take 51 us plain, 17.2 direct, 27.4 deferred.
 */
#define COPY_FOLLOWED     16

/*
 * From this size on copy workers help to copy the source of an upload into the ring.  Behind work,
 * until the call returns, plain, bounced by one thread, and staged with workers, us: 16, 23, 28
 * (256 KiB), 52, 93, 47 (1 MiB), 119, -, 61 (2 MiB).
 */
#define COPY_FILL_LEAST   ((size_t)512 << 10)

/* Returns what staging saves this copy, ns; 0: nothing, or staging memory must not be used. */
uint64_t copy_stage_gain_ns(struct copy *copy);

/*
 * The smallest synchronous upload and the smallest download of pageable memory that are staged.
 * HOTPIN_ROUTE has other limits.
 */
#define COPY_STAGE_H2D_LEAST   ((size_t)16 << 20)
#define COPY_STAGE_D2H_LEAST   ((size_t)32 << 10)

/*
 * The smallest asynchronous upload of pageable memory that is staged.  Fresh shared memory that
 * another process has filled, until it was on the device, plain and staged by four workers (us):
 *
 *	                 4 MiB        8 MiB         16 MiB        25 MB
 *	one H200         826  863     1595  1244    3012  1706    5008  2681
 *	another, static  253  284                   943   983
 */
#define COPY_STAGE_ASYNC_LEAST ((size_t)8 << 20)

/* Returns the size from which on a copy of pageable memory may be staged. */
static inline size_t copy_stage_least(bool to_device, bool asynchronous)
{
	if (!to_device)
		return COPY_STAGE_D2H_LEAST;
	return asynchronous ? COPY_STAGE_ASYNC_LEAST : COPY_STAGE_H2D_LEAST;
}

/*
 * Staging memory costs about what a copy of 64 MiB gains by it.  Staging memory is made once the
 * copies that were passed through without it, this one included, would have gained as much.
 */
#define COPY_STAGING_COST_NS 2000000u

/* The smallest copy between unknown addresses for which asking the driver about them pays. */
#define COPY_DIRECTION_LEAST ((size_t)1 << 20)

/*
 * True if the copy would be faster from pinned memory.  False if the driver stages pageable memory
 * and returns at once: waiting for a pinned copy could only be slower.
 */
bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes);

#endif
