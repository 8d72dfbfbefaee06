/*
 * Finds the end of deferred copies among CUPTI's records.
 *
 * If CUPTI records calls, the call that made a copy identifies it (trace/collect/correlation.h).
 * Otherwise a deferred copy is found by its size, in the order of the calls: the device copies in
 * the same order.  Another copy of that size at the same time may be mistaken for a deferred one,
 * so that result is an estimate.
 */
#ifndef HP_TRACE_COLLECT_DEFERRED_H
#define HP_TRACE_COLLECT_DEFERRED_H

#include "trace/operation.h"

/* Called before the other functions.  Returns 0 or -ENOMEM. */
int deferred_start(void);

/* Notes a call that has returned while its copy may be in flight.  With the lock `trace` held. */
void deferred_note(const struct trace_copy *copy);

/*
 * True if an upload that ended at `end_ns` is a deferred copy; then `ret_leave_ns` is the time when
 * its call returned.  Copies are found by the call, or by size and order if `caller` is NULL.  One
 * thread.  Takes no lock, since a lock for each record would delay the program's threads.
 */
bool deferred_claim(uint64_t bytes, uint64_t end_ns, const struct correlation_caller *caller,
		    uint64_t *ret_leave_ns);

#endif
