/*
 * Finds the driver call that made a copy or launched a kernel, if CUPTI records calls.  CUPTI's
 * records of a call and of its work share a number.  They arrive in any order, up to some seconds
 * apart.
 *
 * Only the thread that reads records uses this file.  Memory is bounded, about 6 MiB, of which a
 * fraction is touched.
 */
#ifndef HP_TRACE_COLLECT_CORRELATION_H
#define HP_TRACE_COLLECT_CORRELATION_H

#include "trace/collect/cupti_min.h"
#include "trace/operation.h"

#include <stdbool.h>

/* The latest calls, a power of 2; copies and kernels that wait for the record of their call. */
#define CORRELATION_NUMBERS 65536u
#define CORRELATION_WAITING 32768u
#define CORRELATION_TURNS   3u /* for so long */

/* A copy, or a run of a kernel. */
struct correlation_work {
	bool is_kernel;
	union {
		struct cupti_memcpy copy;
		struct {
			uint32_t kernel; /* its number in aggregate.h */
			uint64_t busy_ns;
		};
	};
};

/* Takes each work once.  `caller` is NULL if no call is known. */
typedef void (*correlation_take_fn)(void *arg, const struct correlation_work *work,
				    const struct correlation_caller *caller);

/* Returns 0 or -ENOMEM.  Once a process. */
int correlation_start(void);

/* True if CUPTI records calls.  Any thread, after correlation_start(). */
bool correlation_is_known(void);

/*
 * Take a record of each kind.  Work whose call is known, or will not become known, goes to `take`,
 * at the latest with the end of the turn.
 */
void correlation_called(uint32_t number, const struct correlation_caller *caller,
			correlation_take_fn take, void *arg);
void correlation_worked(uint32_t number, const struct correlation_work *work,
			correlation_take_fn take, void *arg);

/*
 * Ends a turn: passes work to `take` whose call is known, or that has waited for CORRELATION_TURNS;
 * all work if `all`.
 */
void correlation_turn(bool all, correlation_take_fn take, void *arg);

#endif
