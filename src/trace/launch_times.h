/*
 * The device time of kernels by the place that launched them.
 *
 * CUPTI's records of a launch and of its kernels share a number.  A thread notes where and when it
 * launches; the record of the launch says its thread and time, and so the place.  Kernels that
 * cannot be joined to a launch are shared among the places that are known to launch kernels of
 * their name; that share is an estimate.  Records cost each launch some tenths of a microsecond, so
 * without a timeline they are asked for only until the places are known.
 *
 * Memory is bounded, about 3 MiB and 128 KiB for each thread that launches.
 */
#ifndef HP_TRACE_LAUNCH_TIMES_H
#define HP_TRACE_LAUNCH_TIMES_H

#include "trace/cupti_min.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Powers of 2: the latest launches of one thread; numbers and kernels whose launch is awaited. */
#define LAUNCH_TIMES_NOTES   16384u
#define LAUNCH_TIMES_NUMBERS 65536u
#define LAUNCH_TIMES_WAITING 16384u
/* So many kernels are joined to their launches before records of launches are done without. */
#define LAUNCH_TIMES_EXACT   4096u
#define LAUNCH_TIMES_RETRIES 16u
/* Launches of later threads are not noted; pairs of a kernel and a place. */
#define LAUNCH_TIMES_THREADS 256u
#define LAUNCH_TIMES_PAIRS   8192u

struct launch_time {
	uint64_t kernels, device_ns;
	uint64_t estimated_ns; /* of device_ns */
};

/* `kernels` is how many kernels have numbers.  0 or -ENOMEM.  Once a process. */
int launch_times_start(uint64_t began_ns, size_t kernels);

/* True if CUPTI tells of launches. */
bool launch_times_wanted(void);

/* The calling thread launches from the place that launches.h numbers `place`.  Takes no lock. */
void launch_times_note(uint32_t place, uint64_t enter_ns);

/* True of a call that launches. */
bool launch_times_is_launch(const struct cupti_call *call);

/* These are of the one thread that reads records.  `at_ns` is a time within the call, on our clock.
 */
void launch_times_called(uint32_t number, uint32_t thread, uint64_t at_ns);
void launch_times_ran(uint32_t number, size_t kernel, uint64_t busy_ns);

/*
 * True if records of launches are worth their cost now, which each launch pays: until the places of
 * the first kernels are known, and again, a few times, when kernels run whose place is not known.
 * Asked from time to time by one thread, which sets `on` to what it did last.
 */
bool launch_times_want_records(bool on);

/* Sums so far: of one place, and of the kernels that no place is known for. */
void launch_times_read(size_t place, struct launch_time *ret);
void launch_times_read_rest(struct launch_time *ret);

#endif
