/*
 * A histogram of the run over time: at most STRIP_BINS bins of one width, which doubles when all
 * bins are used.  Pure.
 */
#ifndef HP_TRACE_COLLECT_STRIP_H
#define HP_TRACE_COLLECT_STRIP_H

#include "base/profile_fields.h"

#define STRIP_BINS     512u
#define STRIP_STATES   6u
#define STRIP_FIRST_NS 1000000u /* the width of a bin, at first */

enum strip_count { STRIP_UP_BYTES, STRIP_DOWN_BYTES, STRIP_CALLS, STRIP_COUNTS };

struct strip {
	uint64_t begin, width; /* ns */
	size_t bins;           /* used */
	uint64_t latest;       /* begin of the bin that was written last */
	size_t latest_bin;
	struct profile_bin bin[STRIP_BINS]; /* columns: ns of each state, then each count */
};

/* Makes an empty histogram that begins at `begin`, ns. */
void strip_init(struct strip *strip, uint64_t begin);

/*
 * Adds that `state` lasted from `from` to `to`.  In any order.  Time before the begin is left out.
 */
void strip_add_time(struct strip *strip, unsigned state, uint64_t from, uint64_t to);

/* Adds `count` bytes or calls at that time. */
void strip_add_count(struct strip *strip, enum strip_count what, uint64_t at, uint64_t count);

#endif
