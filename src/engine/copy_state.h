/*
 * One copy while it runs: its request, facts and plan, and what its route holds.
 */
#ifndef HP_ENGINE_COPY_STATE_H
#define HP_ENGINE_COPY_STATE_H

#include "engine/plan.h"
#include "engine/request.h"
#include "heap/block.h"
#include "heap/map.h"
#include "stage/ring.h"

/* Used only by the thread that makes the call. */
struct copy {
	const struct copy_request *request;
	struct copy_facts facts;
	enum copy_route route;
	struct block
		*block; /* of the host side, in use from copy_begin() on; NULL: not in the heap */

	/* The piece that the driver's call moves next. */
	const void *from; /* its host side, or the copy of its source */
	size_t done, now; /* bytes of the pieces before, and of this piece */
	CUresult result;  /* the driver's answer, written by the wrapper */

	/* State of the running route. */
	bool begun;
	bool staged;    /* the copy has used staging memory */
	char *on_stack; /* room for the bytes of a small bounced copy; NULL: none */
	char *mapped;   /* the buffer of a larger one; NULL: none */
	size_t mapped_bytes;
	struct ring_hold ring; /* the part of the ring that holds it, or no memory */
	size_t ring_bytes;     /* bytes that went through the ring */
	bool settles;          /* a download that waits for all deferred copies */
	uint64_t ticket;       /* from trace_staging() */

	/* State of the whole copy. */
	bool retried;   /* unpinned after the driver had refused it */
	unsigned holds; /* that many unpin_release() follow when the copy ends */
};

#endif
