/*
 * Where Python code spends CPU time: threads that use CUDA are looked at every 10 ms, and the CPU
 * time since the last look counts for the place where the thread is.
 *
 * A thread of hotpin reads the frames through the kernel, so no thread is interrupted.  It runs
 * only where an interpreter is known.  Memory is bounded.
 */
#ifndef HP_TRACE_PYTHON_SAMPLER_H
#define HP_TRACE_PYTHON_SAMPLER_H

#include "trace/frames.h"

#define PYTHON_SAMPLER_MOST 1024u /* places; a power of two */

struct python_sample {
	uint32_t python[FRAMES_PYTHON_MOST]; /* as in struct frames_way */
	size_t python_depth;                 /* 0: no Python, or it could not be read */
	uint64_t samples, cpu_ns;
};

/*
 * Starts the thread once there is one to look at, if HOTPIN_SAMPLE wants samples.  Of the thread
 * that reads records.
 */
void python_sampler_turn(void);

/* Ends it; waits for a second at most. */
void python_sampler_stop(void);

/* CPU time of that thread. */
uint64_t python_sampler_cost_ns(void);

/* Has it looked at anything?  Takes the lock `trace`, as python_sampler_read() does. */
size_t python_sampler_count(void);

/* `index` from 0 to python_sampler_count() - 1, in no order. */
void python_sampler_read(size_t index, struct python_sample *ret);

#endif
