/*
 * The CPython interpreter of this process, 3.10 to 3.14, and what a thread runs in it.
 *
 * The calling thread is inside a call, so its frames do not change while they are read.  Another
 * thread's are read by the kernel, and what they say may be out of date.  Nothing of the
 * interpreter is called, and its lock is not needed.
 */
#ifndef HP_TRACE_INTERPRETER_H
#define HP_TRACE_INTERPRETER_H

#include "trace/python_frames.h"

#include <sys/types.h>

/*
 * Looks for an interpreter unless one is known or nothing was loaded since the last time.  Then
 * looks how it knows its threads, unless that is known, in the calling thread.  Takes the loader's
 * lock; no lock of ours may be held.
 */
void interpreter_look(void);

/* False: no thread is known to run Python, and interpreter_frames() would return 0. */
bool interpreter_is_known(void);

/*
 * Writes the calling thread's innermost frames, `most` at most.  Returns how many; 0: it runs no
 * Python, or nothing is known of the interpreter.  Any thread, in a signal handler too.
 */
size_t interpreter_frames(size_t most, struct python_frame *ret);

/* Of a frame that interpreter_frames() has just returned in this thread.  False: no sense in it. */
bool interpreter_place(const struct python_frame *frame, struct python_place *ret);

#define INTERPRETER_THREADS_MOST 64

/* A thread that runs Python. */
struct interpreter_thread {
	pid_t tid;
	uintptr_t state, self;
};

/*
 * Writes the threads for which interpreter_frames() returned frames, of which some may have ended.
 * interpreter_ended() forgets one.
 */
size_t interpreter_threads(struct interpreter_thread ret[INTERPRETER_THREADS_MOST]);
void interpreter_ended(const struct interpreter_thread *thread);

/* The one of them that is the main thread of the process.  False: it is not among them. */
bool interpreter_main(struct interpreter_thread *ret);

/*
 * As interpreter_frames() and interpreter_place(), of a thread that may run meanwhile, or end.  One
 * thread at a time.
 */
size_t interpreter_frames_of(const struct interpreter_thread *thread, size_t most,
			     struct python_frame *ret);
bool interpreter_place_of(const struct python_frame *frame, struct python_place *ret);

#endif
