/*
 * How is one copy carried out?  Pure: facts in, a route out.
 *
 * The figures are an H200's (PCIe 5 x16, driver 580.159, CUDA 13.0).
 */
#ifndef HP_COPY_PLAN_H
#define HP_COPY_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* Where the host side of a copy lies. */
enum copy_place {
	COPY_ELSEWHERE, /* not in a block of ours, or no host side at all */
	COPY_PAGEABLE,  /* begins in a block of ours that is not pinned by us */
	COPY_PINNED,    /* wholly in one block that is pinned by us */
	COPY_STRADDLES, /* begins in such a block and ends outside it */
	COPY_PLACES
};

struct copy_facts {
	enum copy_place place;
	bool to_device; /* the host side is the source */
	bool linear;    /* one run of bytes on the host side, whose other end can be offset too */
	bool asynchronous;
	bool behind_work; /* asynchronous, and its stream has not finished what it was given */
	size_t bytes;
};

enum copy_route {
	COPY_PASS,   /* the driver's call, untouched */
	COPY_DIRECT, /* the driver's call; the device reads or writes the pinned block itself */
	COPY_WAIT,   /* likewise, then wait for the stream: pageable memory's asynchronous copies
		      * come back with the source free or the data there, and programs rely on it */
	COPY_BOUNCE, /* from a pageable copy of the source, which the driver stages inside the call
		      */
	COPY_SPLIT,  /* one call for each side of a border: a range that begins in a registration
		      * and ends outside it is refused (CUDA_ERROR_INVALID_VALUE) */
	COPY_ROUTES
};

/*
 * From this size on an asynchronous H2D copy of pageable memory blocks until the stream has come
 * to it; 1 MiB and less is staged at once, even behind a kernel.  The border lies between.
 */
#define COPY_BLOCKS_FROM ((size_t)4 << 20)

/* Up to this size staging beats a pinned copy and the wait for it: 5.8 against 6.4 us at 64 B. */
#define COPY_STAGED_MOST ((size_t)16 << 10)

enum copy_route copy_plan(const struct copy_facts *facts);

/*
 * Would pinning spare this copy of pageable memory anything?  Not where the driver stages it and
 * returns at once: waiting for a pinned copy could only be slower.
 */
bool copy_gains_from_pinning(bool to_device, bool asynchronous, size_t bytes);

#endif
