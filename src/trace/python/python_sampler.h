/*
 * Samples where Python code spends CPU time.  Every 10 ms, hotpin looks at the threads that use
 * CUDA.  The CPU time since the last look counts for the thread's current place.
 *
 * The thread that reads records also reads the frames, through the kernel, so no thread is
 * interrupted.  Memory is bounded.
 */
#ifndef HP_TRACE_PYTHON_PYTHON_SAMPLER_H
#define HP_TRACE_PYTHON_PYTHON_SAMPLER_H

#include "trace/places/frames.h"

#define PYTHON_SAMPLER_MOST 1024u /* places; a power of two */

struct python_sample {
	uint32_t python[FRAMES_PYTHON_MOST]; /* as in struct frames_way */
	size_t python_depth;                 /* 0: no Python, or not readable */
	uint64_t samples, cpu_ns;
};

/* The time between two looks. */
#define PYTHON_SAMPLER_NS 10000000u

/*
 * Looks at all threads that are known to run Python.  False: there are none, or they cannot or
 * shall not be sampled.  Only the thread that reads records calls this function.
 */
bool python_sampler_look(void);

/* Reads a place with samples, from 0 on, in no order.  False: there is none. */
bool python_sampler_read(size_t index, struct python_sample *ret);

#endif
