/*
 * How long was a copy in flight that had returned early?
 *
 * CUPTI's records do not say which call made them: a deferred copy is found by its size, in the
 * order of the calls, which is the order of the device too.  Where other copies of that size are
 * made meanwhile one may pass for the other: what follows from it is an estimate.
 */
#ifndef HP_TRACE_DEFERRED_H
#define HP_TRACE_DEFERRED_H

#include "trace/operation.h"

/* Before all others; 0 or -ENOMEM. */
int deferred_start(void);

/* A call that has returned while its copy may be in flight.  With the lock `trace` held. */
void deferred_note(const struct trace_copy *copy);

/*
 * Was a copy to the device that ended at `end_ns` one of these, by the call that made it, or by
 * size and order where `caller` is NULL?  Then `ret_leave_ns` is when its call returned.  One
 * thread; takes no lock, for it would hold up the program's threads at each record.
 */
bool deferred_claim(uint64_t bytes, uint64_t end_ns, const struct correlation_caller *caller,
		    uint64_t *ret_leave_ns);

#endif
