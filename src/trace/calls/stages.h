/*
 * Tracks the program's stages: its outermost NVTX ranges.
 *
 * There is one stage at a time, regardless of the number of threads.  If several ranges are open,
 * the stage is the range that began last.
 */
#ifndef HP_TRACE_CALLS_STAGES_H
#define HP_TRACE_CALLS_STAGES_H

#include "trace/collect/split.h"
#include "trace/operation.h"

/* Stage 0: none.  The last stage stands for all stages without room in the table. */
#define STAGES_MOST      (SPLIT_STAGES - 1)
#define STAGES_NAME_MOST 256

struct stage {
	char name[STAGES_NAME_MOST], domain[STAGES_NAME_MOST]; /* "": none */
	uint64_t entered;                                      /* in the capture range */
	struct profile_sum flow[2];                            /* TRACE_H2D, TRACE_D2H */
	uint64_t launches;
};

/*
 * Notes that a range begins; `domain` may be "".  Returns the ticket for stages_end(), never 0.
 * Any thread, no lock of ours held, also before trace_start().
 */
uint64_t stages_begin(const char *domain, const char *name, uint64_t now_ns);

/* Notes that the range of `ticket` ends.  An unknown `ticket` is ignored. */
void stages_end(uint64_t ticket, uint64_t now_ns);

/*
 * Notes that the capture range begins or ends (capture_range.h), with the lock `trace` held.  Time
 * outside the range belongs to no stage, and to no sum.
 */
void stages_capture(bool begins, uint64_t now_ns);

/* Add a copy or a launch to the current stage.  stages_copied() needs the lock `trace` held. */
void stages_copied(const struct trace_copy *copy);
void stages_launched(void);

/*
 * Moves the stage changes since the last time into `split`.  Only the thread that owns `split`
 * calls this function.
 */
void stages_drain(struct split *split);

/*
 * Returns the number of stages, which are numbered from 1.  `ret_lost`: changes that were not kept.
 * Both take the lock `trace`.
 */
size_t stages_count(uint64_t *ret_lost);
void stages_read(size_t stage, struct stage *ret);

#endif
