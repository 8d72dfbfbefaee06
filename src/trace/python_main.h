/*
 * Finds the main thread's place in Python, from a thread that runs no Python.
 *
 * Some libraries, such as JAX, copy on their own threads.  The main thread's place at that time
 * does not prove that this thread requested the copy, and every report says so.
 */
#ifndef HP_TRACE_PYTHON_MAIN_H
#define HP_TRACE_PYTHON_MAIN_H

#include "trace/frames.h"

/*
 * Writes the main thread's places, as in struct frames_way, if two readings agree.  Returns their
 * number; 0: unknown, or the calling thread is the main thread.  Takes some system calls; no lock
 * of ours may be held.
 */
size_t python_main_look(uint32_t ret[FRAMES_PYTHON_MOST]);

#endif
