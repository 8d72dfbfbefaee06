/*
 * Finds the device's records of copies that hotpin made in another way than the program asked: in
 * pieces through staging memory, or deferred.
 *
 * CUPTI tells the thread and the time of the driver call that made a copy (correlation.h).  The
 * program's copy that this thread was inside at that time is the one.  If CUPTI does not tell, or
 * the program's copy was too long ago, a record counts as a copy of its own.
 */
#ifndef HP_TRACE_COLLECT_REWRITTEN_H
#define HP_TRACE_COLLECT_REWRITTEN_H

#include "trace/operation.h"

/* The number of remembered copies: more than the records in one of CUPTI's buffers, 11000. */
#define REWRITTEN_MOST 16384u

enum rewritten_kind { REWRITTEN_STAGED, REWRITTEN_DEFERRED };

struct rewritten {
	enum rewritten_kind kind;
	enum trace_direction direction;
	uint64_t begin_ns, end_ns; /* end_ns is UINT64_MAX: not returned */
	uint64_t bytes, left;      /* left: not yet in a record */
	uint32_t thread;
};

/* Called before the other functions.  Returns 0 or -ENOMEM. */
int rewritten_start(void);

/*
 * Notes that the calling thread begins a copy in pieces, and returns its ticket.  rewritten_end()
 * notes that `moved` bytes went in pieces.  Both take the lock `trace`.
 */
uint64_t rewritten_begin(enum trace_direction direction, uint64_t bytes, uint64_t now_ns);
void rewritten_end(uint64_t ticket, uint64_t moved, uint64_t now_ns);

/* Notes a deferred copy of the calling thread, with the lock `trace` held. */
void rewritten_deferred(const struct trace_copy *copy);

/*
 * True if the call of `caller`, which may be NULL, made all of a deferred copy or a piece of a
 * staged one.  Writes the copy as it was before.  Takes the lock `trace`.
 */
bool rewritten_claim(enum rewritten_kind kind, enum trace_direction direction, uint64_t bytes,
		     const struct correlation_caller *caller, struct rewritten *ret);

#endif
