/*
 * Which of the device's copies are pieces of one that the program made?
 *
 * A copy that went through the ring, or was cut at the borders of registrations, is many small ones
 * from or to pinned memory, all of them in flight between its begin and its end.  They are told by
 * that, and by having no more bytes together than it has: an estimate where the program's own
 * pinned copies of the same direction run meanwhile.
 */
#ifndef HP_TRACE_STAGED_H
#define HP_TRACE_STAGED_H

#include "trace/operation.h"

/* So many are remembered: records come up to some seconds late. */
#define STAGED_MOST 4096

struct staged_piece {
	bool is_first;  /* of its copy */
	bool is_cut;    /* not through the ring, but straight from or to what the program named */
	uint64_t bytes; /* of the whole copy */
};

/* Before all others; 0 or -ENOMEM. */
int staged_start(void);

/* Each takes the lock `trace`.  Any thread. */
uint64_t staged_begin(enum trace_direction direction, bool is_cut, uint64_t bytes, uint64_t now_ns);

/* `moved` bytes of the one that staged_begin() returned went in pieces. */
void staged_end(uint64_t ticket, uint64_t moved, uint64_t now_ns);

/*
 * Is a copy from or to pinned memory that began at `start_ns` a piece?  By the call that made it;
 * where `caller` is NULL, since CUPTI does not tell, by time and bytes.  One thread.
 */
bool staged_claim(enum trace_direction direction, uint64_t start_ns, uint64_t bytes,
		  const struct correlation_caller *caller, struct staged_piece *ret);

#endif
