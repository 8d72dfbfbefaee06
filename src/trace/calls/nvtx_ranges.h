/*
 * Tracks the program's outermost NVTX ranges, by domain and name.
 *
 * Time belongs to one range, regardless of the number of threads.  If several are open, it belongs
 * to the one that began last.
 */
#ifndef HP_TRACE_CALLS_NVTX_RANGES_H
#define HP_TRACE_CALLS_NVTX_RANGES_H

#include "trace/collect/split.h"
#include "trace/operation.h"

/* Range 0: none.  The last range stands for all ranges without room in the table. */
#define NVTX_RANGES_MOST      (SPLIT_RANGES - 1)
#define NVTX_RANGES_NAME_MOST 256

struct nvtx_range {
	char name[NVTX_RANGES_NAME_MOST], domain[NVTX_RANGES_NAME_MOST]; /* "": none */
	uint64_t entered;                                                /* in the capture range */
	struct profile_sum flow[2];                                      /* TRACE_H2D, TRACE_D2H */
	uint64_t launches;
};

/*
 * Notes that a range begins; `domain` may be "".  Returns the ticket for nvtx_ranges_end(), never
 * 0. Any thread, no lock of ours held, also before trace_start().
 */
uint64_t nvtx_ranges_begin(const char *domain, const char *name, uint64_t now_ns);

/* Notes that the range of `ticket` ends.  An unknown `ticket` is ignored. */
void nvtx_ranges_end(uint64_t ticket, uint64_t now_ns);

/*
 * Notes that the capture range begins or ends (capture_range.h), with the lock `trace` held.  Time
 * outside of it belongs to no range, and to no sum.
 */
void nvtx_ranges_capture(bool begins, uint64_t now_ns);

/* Add a copy or a launch to the current range.  nvtx_ranges_copied() needs the lock `trace` held.
 */
void nvtx_ranges_copied(const struct trace_copy *copy);
void nvtx_ranges_launched(void);

/*
 * Moves the range changes since the last time into `split`.  Only the thread that owns `split`
 * calls this function.
 */
void nvtx_ranges_drain(struct split *split);

/*
 * Returns the number of changes that were not kept; reads a range, from 1 on.  False: there is
 * none. Both take the lock `trace`.
 */
uint64_t nvtx_ranges_lost(void);
bool nvtx_ranges_read(size_t range, struct nvtx_range *ret);

#endif
