/*
 * Gaps: host code between two CUDA calls of a thread.  A gap has two places: where the thread
 * returned from one call, and where it made the next.
 *
 * Memory is bounded, about 200 KiB.  When there is no room for another pair of places, the pair
 * with the least time gives up its row.  Its sums are reported without places.
 */
#ifndef HP_TRACE_CALLS_GAPS_H
#define HP_TRACE_CALLS_GAPS_H

#include "base/profile_fields.h"
#include "trace/places/frames.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GAPS_MOST     512u   /* a power of two */
#define GAPS_LEAST_NS 10000u /* shorter ones are added up without places */
/* In place of a function: the process or the capture range began or ended there. */
#define GAPS_NO_CALL  UINT32_MAX

/* One of the two calls. */
struct gap_end {
	uint32_t function; /* its number, as in calls.h, or GAPS_NO_CALL */
	struct frames_place place;
};

struct gap {
	struct gap_end before, after;
	struct profile_gap_sum sum;
};

struct gaps_counts {
	/*
	 * Up to 63 gaps of each thread that does not end the process are missing from short_ones.
	 */
	struct profile_gap_sum short_ones, dropped;
};

/*
 * Starts collecting gaps in a process that began at `began_ns`.  Returns 0 or -ENOMEM.  Once a
 * process.  Does not call frames_start().
 */
int gaps_start(uint64_t began_ns);

/*
 * Notes that the calling thread was inside `function` from `enter_ns` to `leave_ns`.  `frame` is
 * the __builtin_frame_address(0) of the exported function.  `way` is the way from `frame`; NULL: it
 * is found if needed.  No lock of ours may be held, since a new place is unwound and looked up in
 * the loader.
 */
void gaps_called(uint32_t function, uint64_t enter_ns, uint64_t leave_ns, const void *frame,
		 const struct frames_way *way);

/* Notes that the calling thread has returned from hotpin's own work after its latest call. */
void gaps_resumed(uint64_t now_ns);

/*
 * Returns the calling thread's time in host code so far; only differences have a meaning.  The
 * thread may already be inside its next call.  UINT64_MAX: not collected.
 */
uint64_t gaps_of_thread(uint64_t now_ns);

/* Note that the calling thread begins the capture range, or ends it or the process. */
void gaps_range_begins(uint64_t now_ns);
void gaps_ended(uint64_t now_ns);

/* Both take the lock `trace`; `index` from 0 on.  False: there is no such gap. */
void gaps_count(struct gaps_counts *ret);
bool gaps_read(size_t index, struct gap *ret);

#endif
