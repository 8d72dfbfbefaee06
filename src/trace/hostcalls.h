/*
 * What the program's threads did at the border: copies, waits, launches, as the shim saw them.
 */
#ifndef HP_TRACE_HOSTCALLS_H
#define HP_TRACE_HOSTCALLS_H

#include "trace/operation.h"
#include "trace/sizes.h"
#include "trace/split.h"

#include <stdint.h>

struct hostcalls_sum {
	uint64_t count, bytes, host_ns;
	uint64_t sync_count, sync_bytes, sync_ns; /* of those, the synchronous ones */
};

struct hostcalls {
	struct hostcalls_sum copies[TRACE_DIRECTIONS][TRACE_MEMORIES];
	struct sizes sizes[TRACE_DIRECTIONS][TRACE_MEMORIES];
	uint64_t captured;  /* copies recorded into graphs; in no other sum */
	uint64_t must_show; /* synchronous copies over the bus: the device's records have them */
	uint64_t waits, wait_ns;
	uint64_t deferred, deferred_bytes; /* synchronous copies that returned early */
	uint64_t joins;                    /* times that the host waited for these after all */
	uint64_t kernels, graphs;
	uint64_t kernels_captured; /* of `kernels`: perhaps recorded into a graph, and never run */
	uint64_t spans_lost;       /* their sums are right, the wall split misses them */
	/* What noting all this cost the program: what is rare, and the rest by every 17th. */
	uint64_t append_ns;
};

/* `crowded` is rung by hp_ring() when spans should be drained.  0 or -ENOMEM.  Once a process. */
int hostcalls_start(_Atomic uint32_t *crowded);

/* Spans of the host, with the lock `trace` held.  True: as hostcalls_add(). */
bool hostcalls_spans(const struct split_span *spans, size_t count);

/*
 * One copy, with the lock `trace` held.  True: spans should be drained, hostcalls_crowd() without
 * the lock.
 */
bool hostcalls_add(const struct trace_copy *copy);
void hostcalls_crowd(void);

/*
 * Around what is noted of one call, for append_ns; 0: this one is not timed.  What is rare or long
 * (a first use, a hash of all bytes) counts by itself: it began at `from_ns` and ends now; the
 * time it took is returned, and the begin of a sample around it is to be put off by that.  Any
 * thread.
 */
uint64_t hostcalls_sample_begins(void);
void hostcalls_sample_ends(uint64_t from_ns);
uint64_t hostcalls_rare(uint64_t from_ns);

/* Each takes the lock `trace` for some nanoseconds. */
void hostcalls_copy(const struct trace_copy *copy);
void hostcalls_wait(uint64_t enter_ns, uint64_t leave_ns);
void hostcalls_join(uint64_t enter_ns, uint64_t leave_ns);
void hostcalls_launch(enum trace_launch launch);
void hostcalls_start_up(uint64_t from_ns, uint64_t to_ns);

/* Moves the spans noted so far into `split`; one thread, which owns `split`. */
void hostcalls_drain(struct split *split);

/* A copy of all sums, some 30 kB.  Takes the lock `trace`. */
void hostcalls_read(struct hostcalls *ret);

/* Its must_show alone. */
uint64_t hostcalls_must_show(void);

#endif
