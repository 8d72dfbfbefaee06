/*
 * Samples host code: chooses the threads, and the mechanism, or says why there are no samples.
 *
 * All of it runs in the thread that reads records, twice a second.  The mode `auto` uses no signal
 * handler.  No descriptor stays open.  A child of fork() has neither events nor rings.  Threads of
 * hotpin are left out.  A thread is found within half a second of its start.  A thread that ends
 * before is not sampled.
 */
#ifndef HP_TRACE_SAMPLES_SAMPLER_H
#define HP_TRACE_SAMPLES_SAMPLER_H

#include "base/profile_fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SAMPLER_MOST 256 /* threads at a time: 20 KiB each, 5 MiB */

/*
 * Chooses at most `most` of the `count` live threads: always the first; the others take turns.
 * Returns the number chosen.  Pure.
 */
size_t sampler_choose(const pid_t *living, size_t count, size_t most, size_t turn, pid_t *ret);

/* Says why perf_event_open() failed with `error`.  Pure. */
void sampler_why(int error, int paranoid, char *ret, size_t room);

/*
 * Notes a copy or a launch of the program: samples tell the code before the first one and after the
 * last one apart.  Any thread.
 */
void sampler_worked(uint64_t enter_ns, uint64_t leave_ns);

/*
 * Starts sampling if HOTPIN_SAMPLE asks for samples: once a process, or again after fork().
 * `filtered`: a seccomp filter checks the system calls of the thread that will sample.
 */
void sampler_start(bool filtered);

/* Reads samples and looks for threads, if the last time was half a second ago. */
void sampler_turn(void);

/* Reads the last samples, and ends sampling. */
void sampler_stop(void);

/*
 * Copies the sums, as the last turn has left them.  `began_ns` is a time of base/clock.h; `why` is
 * "" while host code is sampled.
 */
void sampler_read(struct profile_sampling *ret);

#endif
