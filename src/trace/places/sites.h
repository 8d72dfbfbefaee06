/*
 * Sums of copies by their call site in the program.
 *
 * Here and in events.h, a site is a copy site.  In this folder, the allocation site of a block
 * (heap/site.h) is called its `allocator`.
 *
 * Memory is bounded, and the sums include every copy.  When there is no room for another call
 * stack, the stack of least weight gives up its row.  Its sums go to one row without frames, of all
 * such stacks.  A stack whose share of the weight is larger than 1 / SITES_MOST has
 * a row (Metwally, Agrawal, El Abbadi, "Efficient Computation of Frequent and Top-k Elements in
 * Data Streams", 2005).  The weight of a copy is the time in its call plus 1 us.
 */
#ifndef HP_TRACE_PLACES_SITES_H
#define HP_TRACE_PLACES_SITES_H

#include "trace/operation.h"
#include "trace/places/frames.h"

#define SITES_MOST    1024 /* a power of two */
#define SITES_NOWHERE UINT32_MAX

struct site {
	bool folded; /* of several call stacks: `place` holds the frames they share */
	struct frames_place place;
	struct trace_sum row[TRACE_DIRECTIONS][TRACE_MEMORIES];
};

struct sites_counts {
	uint64_t lost;   /* copies in no site: their callers are unknown */
	uint64_t folded; /* copies in folded sites */
};

/* Returns 0 or -ENOMEM.  Once a process.  Does not call frames_start(). */
int sites_start(void);

/*
 * Adds one copy, with the lock `trace` held.  Returns the id of its site, for sites_index().
 * SITES_NOWHERE: the copy was folded, or has no known caller.
 */
uint32_t sites_add(const struct frames_way *way, const struct trace_copy *copy);

/*
 * Returns the place of a site by its id, with the lock `trace` held.  NULL: it has given up its row
 * since.
 */
const struct frames_place *sites_place(uint32_t id);

/*
 * While `held`, no site gives up its row, so the results of sites_read() and sites_index() are
 * consistent.  Takes the lock `trace`, as all functions below.
 */
void sites_hold(bool held);

void sites_count(struct sites_counts *ret);

/* Reads a site, from 0 on.  False: there is none. */
bool sites_read(size_t index, struct site *ret);

/* Returns the index of a site by its id; UNKNOWN: the site has given up its row since. */
int64_t sites_index(uint32_t id);

#endif
