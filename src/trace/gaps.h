/*
 * Host code between two calls of CUDA: where the thread returned from the one, and where it made
 * the next.
 *
 * Memory is bounded, about 200 KiB.  Where more pairs of places have gaps than there is room for,
 * the pair that has taken least gives up its place; its sums are told without places.
 */
#ifndef HP_TRACE_GAPS_H
#define HP_TRACE_GAPS_H

#include "trace/frames.h"
#include "trace/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GAPS_MOST     512u
#define GAPS_LEAST_NS 10000u     /* shorter ones are added up without places */
#define GAPS_NO_CALL  UINT32_MAX /* in place of a function: the process began or ended there */

/* One of the two calls. */
struct gap_end {
	uint32_t function; /* its number, as in calls.h, or GAPS_NO_CALL */
	size_t depth;      /* 0: the place is not known */
	struct module_place frame[FRAMES_MOST];
	uint32_t python[FRAMES_PYTHON_MOST]; /* as in struct frames_way */
	size_t python_depth;
};

struct gap_sum {
	uint64_t count, total_ns, longest_ns;
};

struct gap {
	struct gap_end before, after;
	struct gap_sum sum;
};

struct gaps_counts {
	size_t gaps;
	/* Up to 63 of each thread that does not end the process are not in short_ones. */
	struct gap_sum short_ones, dropped;
};

/* The process began at `began_ns`.  0 or -ENOMEM.  Once a process; frames_start() is apart. */
int gaps_start(uint64_t began_ns);

/*
 * The calling thread was inside `function` from `enter_ns` to `leave_ns`, by an exported function
 * whose __builtin_frame_address(0) is `frame`.  `way` leads there; NULL: it is looked for if need
 * be.  No lock of ours may be held: for a new place the stack is unwound and the loader
 * is asked.
 */
void gaps_called(uint32_t function, uint64_t enter_ns, uint64_t leave_ns, const void *frame,
		 const struct frames_way *way);

/* The calling thread has returned from hotpin's own work after its latest call. */
void gaps_resumed(uint64_t now_ns);

/*
 * Host code of the calling thread up to now, which is inside its next call at most; differences
 * count.  UINT64_MAX: not collected.
 */
uint64_t gaps_of_thread(uint64_t now_ns);

/* The calling thread ends the process, and makes no more calls. */
void gaps_ended(uint64_t now_ns);

/* Both take the lock `trace`; `index` from 0 to gaps - 1. */
void gaps_count(struct gaps_counts *ret);
void gaps_read(size_t index, struct gap *ret);

#endif
