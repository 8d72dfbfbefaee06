/*
 * The host time of driver calls, by function.
 *
 * Each thread counts into its own table.  When the thread has ended, a later thread takes over the
 * table with its sums.  A table has 32 KiB, of which a fraction is touched.  The calls of a thread
 * without memory are lost.
 */
#ifndef HP_TRACE_CALLS_CALLS_H
#define HP_TRACE_CALLS_CALLS_H

#include "base/profile_fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kinds of functions. */
enum calls_kind {
	CALLS_START_UP = 1, /* starts CUDA or loads code */
	CALLS_LAUNCH = 2,
	CALLS_WORK = 4,     /* not reported as a copy or wait: both above, allocations, memsets */
	CALLS_MAY_WAIT = 8, /* host code may then read what was downloaded before */
	CALLS_WAITS = 16    /* only waits for the device */
};

struct call_class {
	const char *name; /* in the profile */
	unsigned char kinds;
};

/* Returns the class of the function `name` of libcuda.so.1, of any version and flavor. */
struct call_class call_class_of(const char *name);

/* Function numbers are below this.  Calls of other functions are not counted. */
#define CALLS_FUNCTIONS_MOST 1024u

/*
 * Starts counting calls.  `name(i)` names function i, of `count`; the names stay valid.
 * `may_wait(i)` is as in struct trace_facts.  Once a process.
 */
void calls_start(const char *(*name)(size_t function), bool (*may_wait)(size_t function),
		 size_t count);

/*
 * Counts one call of the calling thread.  Returns the kinds of the function.  Takes the lock
 * `trace` once in some hundred calls.
 */
unsigned calls_add(size_t function, uint64_t enter_ns, uint64_t leave_ns);

/* Passes the spans noted so far to operations_drain().  Takes the lock `trace`. */
void calls_gather(void);

/* The number of functions, 0 before calls_start(); the name of one; one of the profile. */
size_t calls_functions(void);
const char *calls_name(size_t function);
void calls_read(size_t function, struct profile_call *ret);

#define CALLS_UNKNOWN UINT64_MAX

/*
 * Returns the number of calls so far that may have waited for the device, with the lock `trace`
 * held.  CALLS_UNKNOWN: one may be missing, or several threads have made calls, any of which may
 * wait for another one's copies.
 */
uint64_t calls_waits(void);

/* Notes that such a call may be missing. */
void calls_lose_waits(void);

/* The number of threads that have made a call that was counted. */
uint32_t calls_threads(void);

#endif
