/*
 * Samples of host code: which threads are sampled, by what, and why they are not.
 *
 * All of it runs in the thread that reads records, twice a second.  No signal handler in the mode
 * `auto`; no descriptor stays open; a child of fork() has neither events nor rings.  Threads of
 * hotpin are left out.  A thread is found half a second after it began; one that ends before that
 * is not sampled.
 */
#ifndef HP_TRACE_SAMPLER_H
#define HP_TRACE_SAMPLER_H

#include "trace/perf_ring.h"

#include <stdbool.h>
#include <sys/types.h>

#define SAMPLER_MOST 256 /* threads at a time: 20 KiB each, 5 MiB */

struct sampler_sums {
	const char *mode;  /* "perf", "signal" or "none" */
	char why[200];     /* why host code is not sampled, or no longer; "": it is */
	uint64_t began_ns; /* hp_now_ns() */
	uint64_t threads;  /* most that there were at once */
	uint64_t sampled;  /* threads that were sampled */
	uint64_t refused;  /* times that a thread could not be, and had not ended */
	uint64_t at_once;  /* how many can be sampled at a time */
	bool in_turn;      /* there were more threads than that */
	uint64_t cost_ns;  /* CPU time of reading samples */
	struct perf_ring_sums ring;
};

/*
 * Chooses at most `most` of the `count` threads that live, the first of which is always among them;
 * the others take turns.  Returns how many.  Pure.
 */
size_t sampler_choose(const pid_t *living, size_t count, size_t most, size_t turn, pid_t *ret);

/* Says why perf_event_open() failed with `error`.  Pure. */
void sampler_why(int error, int paranoid, char *ret, size_t room);

/* If HOTPIN_SAMPLE wants samples. */
void sampler_start(void);

/* Reads samples, and looks for threads, half a second after it did so last. */
void sampler_turn(void);

/* Reads the last samples, and ends sampling. */
void sampler_stop(void);

void sampler_read(struct sampler_sums *ret);

#endif
