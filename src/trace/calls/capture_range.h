/*
 * The capture range: the part of the run that the profile is about (HOTPIN_CAPTURE).
 *
 * The program marks it with NVTX ranges of one name or with cuProfilerStart() and cuProfilerStop(),
 * as often as it likes: all such times together are the range.  Without HOTPIN_CAPTURE the range is
 * the whole run.
 */
#ifndef HP_TRACE_CALLS_CAPTURE_RANGE_H
#define HP_TRACE_CALLS_CAPTURE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* Work on the device is in the range if it begins in one of the latest of so many parts. */
#define CAPTURE_RANGE_PARTS 65536u

/* True if the range is the whole run. */
bool capture_range_is_all(void);

/* True if an NVTX range of this name is captured. */
bool capture_range_is_named(const char *name);

/*
 * Note that a part begins or ends.  Parts of several threads may overlap; the range then ends with
 * the last of them.  Any thread, no lock of ours held, also before trace_start().
 */
void capture_range_begins(uint64_t now_ns);
void capture_range_ends(uint64_t now_ns);

/* True if it is in the range now, and was at `since_ns`. */
bool capture_range_is_open(uint64_t since_ns);

/* True if that time was in the range. */
bool capture_range_holds(uint64_t at_ns);

/* Returns the begin of the latest part; 0: there was none. */
uint64_t capture_range_began_ns(void);

/* Returns the number of parts that have begun. */
uint64_t capture_range_count(void);

#endif
