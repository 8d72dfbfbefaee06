/*
 * The CPython interpreter of this process, 3.11 to 3.14, and the Python code that a thread runs.
 *
 * The calling thread is inside a call, so its frames do not change while they are read.  The kernel
 * reads the frames of another thread, which may be out of date.  hotpin calls no function of the
 * interpreter, and does not need its lock.
 */
#ifndef HP_TRACE_PYTHON_INTERPRETER_H
#define HP_TRACE_PYTHON_INTERPRETER_H

#include "trace/python/python_frames.h"

#include <sys/types.h>

/*
 * Looks for an interpreter, unless one is known or nothing was loaded since the last time.  Then
 * finds out in the calling thread how the interpreter stores its threads, unless that is known.
 * Takes the loader's lock; no lock of ours may be held.
 */
void interpreter_look(void);

/* False: no thread is known to run Python, and interpreter_frames() would return 0. */
bool interpreter_is_known(void);

/* True if the process has a Python interpreter, of a version whose frames hotpin cannot read. */
bool interpreter_is_unreadable(void);

#define INTERPRETER_THREADS_MOST 64

/* A thread that runs Python. */
struct interpreter_thread {
	pid_t tid;
	uintptr_t state, self;
};

/*
 * Writes the thread in a slot, below INTERPRETER_THREADS_MOST, for which interpreter_frames()
 * returned frames, and which may have ended.  False: the slot is free.  interpreter_ended() frees
 * the slot of a thread.
 */
bool interpreter_thread(size_t slot, struct interpreter_thread *ret);
void interpreter_ended(size_t slot, pid_t tid);

/*
 * Writes a thread's innermost frames, `most` at most.  Returns their number; 0: the thread runs no
 * Python, or no interpreter is known.  NULL: the calling thread, any, also in a signal handler.
 * Another thread may run or end during the call; one thread at a time asks for others.
 */
size_t interpreter_frames(const struct interpreter_thread *thread, size_t most,
			  struct python_frame *ret);

/*
 * Writes the place of a frame that interpreter_frames() has just returned for this thread.  False:
 * the frame holds no valid place.
 */
bool interpreter_place(const struct interpreter_thread *thread, const struct python_frame *frame,
		       struct python_place *ret);

#endif
