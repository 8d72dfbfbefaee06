/*
 * One copy while it runs: its request, facts and plan, and what its route holds.
 */
#ifndef HP_ENGINE_COPY_STATE_H
#define HP_ENGINE_COPY_STATE_H

#include "engine/plan.h"
#include "engine/request.h"
#include "engine/tracker.h"
#include "engine/trial.h"
#include "heap/block.h"
#include "heap/map.h"
#include "pin/pinning.h"
#include "stage/bounce.h"
#include "stage/pool.h"

struct copy {
	const struct copy_request *request;
	struct copy_facts facts;
	enum copy_step route;
	struct block
		*block; /* of the host side, in use from copy_begin() on; NULL: not in the heap */

	/* The piece that the driver's call moves next. */
	const void *from; /* its host side, or the copy of its source */
	size_t done, now; /* bytes before it, and of it */
	CUresult result;  /* the driver's answer, written by the wrapper */

	/* State of the running route. */
	bool begun;
	bool staged;                /* the copy has used staging memory */
	bool in_flight;             /* staged; returns before the transfer has completed */
	bool cut;                   /* into several calls; reported by report_cut() */
	struct pin_pipeline pieces; /* registrations that this copy makes */
	struct bounce bounce;       /* holds a bounced source, if it has memory, or */
	struct pool_hold slots;     /* these small-copy slots do */
	size_t slot_bytes;          /* that went through slots */
	struct tracker_stream
		*tracked; /* tracks this copy if it is deferred, or the copies that it waits for */
	tracker_word tracked_word;
	uint64_t ticket;     /* of trace_cutting(), if it is cut, or of trace_staging() */
	uint64_t enter_ns;   /* when its route began; 0: its duration says nothing about pinning */
	struct trial *trial; /* learns how long the copy takes; NULL: its route is not tried */
	uint64_t tried_ns;   /* when the trial's clock started */

	/* State of the whole copy. */
	bool retried;           /* unpinned after the driver had refused it */
	bool driver_reads;      /* counted in block->driver_reads */
	CUdeviceptr refused[2]; /* addresses for unpin_release() when the copy ends; 0: none */
};

#endif
