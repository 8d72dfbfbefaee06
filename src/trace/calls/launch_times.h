/*
 * Device time of kernels by the place that launched them.
 *
 * CUPTI's records of a launch and of its kernels share a number.  A thread notes the place and time
 * of each launch.  The record of a launch holds its thread and time, which identify the place.
 * Kernels that match no launch are divided among the places known to launch kernels of their name;
 * that share is an estimate.  Records cost each launch some tenths of a microsecond.  So without a
 * timeline, hotpin enables them only until the places are known.
 *
 * Memory is bounded: about 1 MiB, and 128 KiB for each thread that launches.
 */
#ifndef HP_TRACE_CALLS_LAUNCH_TIMES_H
#define HP_TRACE_CALLS_LAUNCH_TIMES_H

#include "base/profile_fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The latest launches of one thread; a power of 2. */
#define LAUNCH_TIMES_NOTES   16384u
/* After so many kernels have matched their launches, records of launches are turned off. */
#define LAUNCH_TIMES_EXACT   4096u
#define LAUNCH_TIMES_RETRIES 16u
#define LAUNCH_TIMES_PAIRS   8192u /* of a kernel and a place */

/*
 * Starts collecting.  `kernels` is the number of kernels that have numbers.  Returns 0 or -ENOMEM.
 * Once a process.
 */
int launch_times_start(uint64_t began_ns, size_t kernels);

/* True if CUPTI records launches. */
bool launch_times_wanted(void);

/* Notes that the calling thread launches from `place`, a number of launches.h.  Takes no lock. */
void launch_times_note(uint32_t place, uint64_t enter_ns);

/*
 * Returns the place of the latest launch of a thread that began before `at_ns`; LAUNCHES_MOST: it
 * is not known.  Each launch is returned once.  Only the thread that reads records calls this and
 * the next two functions.
 */
uint32_t launch_times_place(uint32_t thread, uint64_t at_ns);

/* Adds a run of a kernel.  True: a record may tell its launch. */
bool launch_times_ran(size_t kernel, uint64_t busy_ns);

/* Adds to a run the place of its launch, as launch_times_place() has returned it. */
void launch_times_joined(uint32_t kernel, uint32_t place, uint64_t busy_ns);

/*
 * True if records of launches are now worth their cost to each launch: until the places of the
 * first kernels are known, and again, a few times, when kernels from unknown places run.  One
 * thread calls this function from time to time, and turns the records on or off.
 */
bool launch_times_want_records(void);

/*
 * Write the sums so far: kernels and device_ns of one place, with its estimated_ns; those of the
 * kernels without a known place.
 */
void launch_times_read(size_t place, struct profile_launch *ret);
void launch_times_read_rest(struct profile_launches_rest *ret);

#endif
