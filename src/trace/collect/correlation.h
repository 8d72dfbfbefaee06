/*
 * Finds the driver call that made a copy, if CUPTI records calls.  CUPTI's records of a call and of
 * its copy share a number.  The two records arrive in any order, up to some seconds apart.
 *
 * Only the thread that reads records uses this file.  Memory is bounded.
 */
#ifndef HP_TRACE_COLLECT_CORRELATION_H
#define HP_TRACE_COLLECT_CORRELATION_H

#include "trace/collect/cupti_min.h"
#include "trace/operation.h"

#include <stdbool.h>

/* More copies than are in flight at once; a power of two. */
#define CORRELATION_MOST 16384u

/* Takes each copy once.  `caller` is NULL if no call is known. */
typedef void (*correlation_take_fn)(void *arg, const struct cupti_memcpy *copy,
				    const struct correlation_caller *caller);

/* Returns 0 or -ENOMEM.  Once a process. */
int correlation_start(void);

/*
 * True if `caller` is the call of that thread from begin_ns to end_ns; UINT64_MAX: not ended.  The
 * clocks differ a little.
 */
bool correlation_is_within(const struct correlation_caller *caller, uint32_t thread,
			   uint64_t begin_ns, uint64_t end_ns);

/*
 * Take a record of each kind.  Copies whose call is known, or will not become known, go to `take`.
 */
void correlation_called(const struct cupti_call *call, correlation_take_fn take, void *arg);
void correlation_copied(const struct cupti_memcpy *copy, correlation_take_fn take, void *arg);

/*
 * Ends a turn: passes copies to `take` that have waited two turns for the record of their call; all
 * copies if `all`.
 */
void correlation_turn(bool all, correlation_take_fn take, void *arg);

#endif
