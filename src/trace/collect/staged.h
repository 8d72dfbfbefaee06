/*
 * Finds the device's copies that are pieces of one copy of the program.
 *
 * A copy through staging memory consists of many pieces from or to pinned memory.  All pieces are
 * in flight between the begin and the end of the copy.  Together they have no more bytes than the
 * copy.  If CUPTI tells the call of a piece, its thread and time decide.  Otherwise the result is
 * an estimate if the program's own pinned copies of the same direction run at the same time.
 */
#ifndef HP_TRACE_COLLECT_STAGED_H
#define HP_TRACE_COLLECT_STAGED_H

#include "trace/operation.h"

/* The number of remembered copies.  Records arrive up to some seconds late. */
#define STAGED_MOST 4096

struct staged_piece {
	bool is_first;  /* the first piece of its copy */
	uint64_t bytes; /* of the whole copy */
};

/* Called before the other functions.  Returns 0 or -ENOMEM. */
int staged_start(void);

/*
 * Notes that a copy in pieces begins, and returns its ticket.  This function and staged_end() take
 * the lock `trace`.  Any thread.
 */
uint64_t staged_begin(enum trace_direction direction, uint64_t bytes, uint64_t now_ns);

/* `moved` bytes of the copy of `ticket` went in pieces. */
void staged_end(uint64_t ticket, uint64_t moved, uint64_t now_ns);

/*
 * True if a copy from or to pinned memory that began at `start_ns` is a piece.  Decides by the call
 * that made the copy.  If `caller` is NULL, since CUPTI records no calls, decides by time and
 * bytes.  One thread.
 */
bool staged_claim(enum trace_direction direction, uint64_t start_ns, uint64_t bytes,
		  const struct correlation_caller *caller, struct staged_piece *ret);

#endif
