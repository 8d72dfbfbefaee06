/*
 * The host time of driver calls, by function.
 *
 * Each thread counts into a table of its own, which a later thread takes over with its sums when
 * that thread has ended: 32 KiB for each of CALLS_THREADS_MOST threads at once, of which what is
 * touched is a fraction.  The threads beyond share one more, under a lock.
 */
#ifndef HP_TRACE_CALLS_H
#define HP_TRACE_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Functions have numbers below this; a call of any other is not counted. */
#define CALLS_FUNCTIONS_MOST 1024u
#define CALLS_THREADS_MOST   1024u

struct calls_sum {
	uint64_t count, total_ns, longest_ns;
};

/* `name(i)` names function i, of `count`; the names stay.  0 or -ENOMEM.  Once a process. */
int calls_start(const char *(*name)(size_t function), size_t count);

/*
 * One call of the calling thread.  True: spans should be drained, hostcalls_crowd().  Takes the
 * lock `trace` once in some hundred calls.
 */
bool calls_add(size_t function, uint64_t enter_ns, uint64_t leave_ns);

/* Hands the spans noted so far to hostcalls_drain().  Takes the lock `trace`. */
void calls_gather(void);

/* How many functions there are, 0 before calls_start(); the name of one, its sums of all threads.
 */
size_t calls_functions(void);
const char *calls_name(size_t function);
void calls_read(size_t function, struct calls_sum *ret);

/* What a function does, constant after calls_start(); inline, since each call asks. */
enum calls_kind {
	CALLS_START_UP = 1, /* starts CUDA or loads code */
	CALLS_LAUNCH = 2,
	CALLS_WORK = 4, /* of which no copy or wait tells: all of these, allocations, memsets */
};
extern unsigned char calls_kinds[CALLS_FUNCTIONS_MOST];

static inline bool calls_is(size_t function, enum calls_kind kind)
{
	return function < CALLS_FUNCTIONS_MOST && (calls_kinds[function] & kind) != 0;
}

#endif
