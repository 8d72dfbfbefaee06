/*
 * How is one copy carried out?  Pure: facts in, a route out.
 */
#ifndef HP_COPY_PLAN_H
#define HP_COPY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* Where the host side of a copy lies. */
enum copy_place {
	COPY_ELSEWHERE, /* not in a block of ours, or no host side at all */
	COPY_PAGEABLE,  /* in one block of ours, not pinned by us */
	COPY_PINNED,    /* wholly in one block that is pinned by us */
	COPY_STRADDLES, /* some of it is pinned by us, some is not, or by another registration */
	COPY_PLACES
};

struct copy_facts {
	enum copy_place place;
	bool to_device; /* the host side is the source */
	bool linear;    /* one run of bytes on the host side, whose other end can be offset too */
	bool asynchronous;
	bool captured; /* the call records a node of a graph; nothing moves yet */
	size_t bytes;
};

enum copy_route {
	COPY_PASS,   /* the driver's call, untouched */
	COPY_DIRECT, /* the driver's call; the device reads or writes the pinned block itself */
	COPY_WAIT,   /* likewise, then wait for the stream: pageable memory's asynchronous copies
		      * come back with the source free or the data there, and programs rely on it */
	COPY_BOUNCE, /* from a pageable copy of the source: the driver stages that at once */
	COPY_SPLIT,  /* one call for each side of a border: the driver refuses a range that is
		      * pinned in part (CUDA_ERROR_INVALID_VALUE, driver 580) */
	COPY_ROUTES
};

/* Up to this size the driver stages a pageable H2D copy inside the call and waits for nothing. */
#define COPY_BOUNCE_MOST ((size_t)64 << 10)

enum copy_route copy_plan(const struct copy_facts *facts);

#endif
