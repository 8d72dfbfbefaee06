/*
 * Launches of kernels and graphs by their call site in the program, and the device time of the
 * kernels by the place that launched them.
 *
 * CUPTI's records of a launch and of its kernels share a number.  A thread notes the place and time
 * of each launch.  The record of a launch holds its thread and time, which identify the place.
 * Kernels that match no launch are divided among the places known to launch kernels of their name;
 * that share is an estimate.  Records cost each launch some tenths of a microsecond.  So without a
 * timeline, hotpin enables them only until the places are known.
 *
 * Memory is bounded: about 1 MiB, and 128 KiB for each thread that launches.  When there is no room
 * for another place, its launches are counted without a place.
 */
#ifndef HP_TRACE_CALLS_LAUNCHES_H
#define HP_TRACE_CALLS_LAUNCHES_H

#include "base/profile_fields.h"
#include "trace/places/frames.h"

#define LAUNCHES_MOST    512u /* places; a power of two */
/* The latest launches of one thread; a power of 2. */
#define LAUNCHES_NOTES   16384u
/* After so many kernels have matched their launches, records of launches are turned off. */
#define LAUNCHES_EXACT   4096u
#define LAUNCHES_RETRIES 16u
#define LAUNCHES_PAIRS   8192u /* of a kernel and a place */

struct launch_site {
	uint64_t count, host_ns; /* calls, and the time in them */
	struct frames_place place;
};

/* Returns 0 or -ENOMEM.  Once a process.  Does not call frames_start(). */
int launches_start(void);

/*
 * Adds one call at the place of its way.  Any thread, no lock of ours held.  Notes the launch for
 * launches_place_at().
 */
void launches_called(const struct frames_way *way, uint64_t enter_ns, uint64_t leave_ns);

/* The calls without a place.  Reads a place, from 0 on; false: there is none.  Take the lock
 * `trace`. */
uint64_t launches_lost(void);
bool launches_read(size_t index, struct launch_site *ret);

/*
 * Starts joining kernels to launches, which CUPTI records.  `kernels` is the number of kernels that
 * have numbers.  Returns 0 or -ENOMEM.  Once a process.
 */
int launches_record(uint64_t began_ns, size_t kernels);

/* True if CUPTI records launches. */
bool launches_are_recorded(void);

/*
 * Returns the place of the latest launch of a thread that began before `at_ns`; LAUNCHES_MOST: it
 * is not known.  Each launch is returned once.  Only the thread that reads records calls this and
 * the next two functions.
 */
uint32_t launches_place_at(uint32_t thread, uint64_t at_ns);

/* Adds a run of a kernel.  True: a record may tell its launch. */
bool launches_ran(size_t kernel, uint64_t busy_ns);

/* Adds to a run the place of its launch, as launches_place_at() has returned it. */
void launches_joined(uint32_t kernel, uint32_t place, uint64_t busy_ns);

/*
 * True if records of launches are now worth their cost to each launch: until the places of the
 * first kernels are known, and again, a few times, when kernels from unknown places run.  One
 * thread calls this function from time to time, and turns the records on or off.
 */
bool launches_want_records(void);

/*
 * Write the sums so far: kernels and device_ns of one place, with its estimated_ns; those of the
 * kernels without a known place.
 */
void launches_read_times(size_t place, struct profile_launch *ret);
void launches_read_rest(struct profile_launches_rest *ret);

#endif
