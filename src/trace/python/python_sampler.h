/*
 * Samples where Python code spends CPU time.  Every 10 ms, hotpin looks at the threads that use
 * CUDA.  The CPU time since the last look counts for the thread's current place.
 *
 * A thread of hotpin reads the frames through the kernel, so no thread is interrupted.  This thread
 * runs only if an interpreter is known.  Memory is bounded.
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

/*
 * Starts the sampling thread if HOTPIN_SAMPLE asks for samples, once a thread runs Python.  Only
 * the thread that reads records calls this function.
 */
void python_sampler_turn(void);

/* Ends the sampling thread.  Waits at most a second. */
void python_sampler_stop(void);

/* Returns the CPU time of the sampling thread. */
uint64_t python_sampler_cost_ns(void);

/*
 * Returns the number of places with samples.  Takes the lock `trace`, as python_sampler_read()
 * does.
 */
size_t python_sampler_count(void);

/* `index` from 0 to python_sampler_count() - 1, in no order. */
void python_sampler_read(size_t index, struct python_sample *ret);

#endif
