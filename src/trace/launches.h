/*
 * Which calls of the program launch kernels and graphs, and how often?
 *
 * Memory is bounded, about 100 KiB: launches of later places than there is room for are counted
 * without one.
 */
#ifndef HP_TRACE_LAUNCHES_H
#define HP_TRACE_LAUNCHES_H

#include "trace/frames.h"
#include "trace/modules.h"

#define LAUNCHES_MOST 512u

struct launch_site {
	uint64_t count, host_ns; /* calls, and time in them */
	size_t depth;
	struct module_place frame[FRAMES_MOST];
	uint32_t python[FRAMES_PYTHON_MOST]; /* as in struct frames_way */
	size_t python_depth;
};

/* 0 or -ENOMEM.  Once a process; frames_start() is apart. */
int launches_start(void);

/*
 * One call that took `took_ns`; names its way.  Returns the number of its place; LAUNCHES_MOST: it
 * is in none.  Any thread, no lock of ours held.
 */
uint32_t launches_called(struct frames_way *way, uint64_t took_ns);

/* Both take the lock `trace`; `index` from 0 on.  `ret_lost`: calls in no place. */
size_t launches_count(uint64_t *ret_lost);
void launches_read(size_t index, struct launch_site *ret);

#endif
