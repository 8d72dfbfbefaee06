/*
 * Which stage of the program is in flight?  Its NVTX ranges, the outermost ones.
 *
 * There is one stage at a time, regardless of the number of threads: where several ranges are open
 * the one that began last is it.
 */
#ifndef HP_TRACE_STAGES_H
#define HP_TRACE_STAGES_H

#include "trace/operation.h"
#include "trace/split.h"

/* 0: none.  The last one stands for all that found no room. */
#define STAGES_MOST      (SPLIT_STAGES - 1)
#define STAGES_NAME_MOST 256

struct stage {
	char name[STAGES_NAME_MOST], domain[STAGES_NAME_MOST]; /* "": none */
	uint64_t entered;
	struct trace_flow flow[2]; /* TRACE_H2D, TRACE_D2H */
	uint64_t launches;
};

/*
 * A range begins; `domain` may be "".  Returns what stages_end() wants; never 0.  Any thread, no
 * lock of ours held, before trace_start() too.
 */
uint64_t stages_begin(const char *domain, const char *name, uint64_t now_ns);

/* An unknown `ticket` is ignored. */
void stages_end(uint64_t ticket, uint64_t now_ns);

/* To the account of the stage that is in flight; the first with the lock `trace` held. */
void stages_copied(const struct trace_copy *copy);
void stages_launched(void);

/* Moves the changes of stage since last time into `split`; one thread, which owns `split`. */
void stages_drain(struct split *split);

/* Stages 1 to stages_count() are known.  `ret_lost`: changes that were not kept. */
size_t stages_count(uint64_t *ret_lost);
void stages_read(size_t stage, struct stage *ret);

#endif
