/*
 * Where the main thread is in Python, seen from a thread that runs no Python.
 *
 * Some libraries, such as JAX, copy on threads of their own. The place of the main thread at that
 * time is no proof that it asked for the copy, and every report says so.
 */
#ifndef HP_TRACE_PYTHON_MAIN_H
#define HP_TRACE_PYTHON_MAIN_H

#include "trace/frames.h"

/*
 * Writes the main thread's places, as in struct frames_way, if two readings agree. Returns how
 * many; 0: they are not known, or the calling thread is the main thread. Takes some system calls;
 * no lock of ours may be held.
 */
size_t python_main_look(uint32_t ret[FRAMES_PYTHON_MOST]);

#endif
