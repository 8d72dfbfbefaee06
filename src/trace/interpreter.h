/*
 * The CPython interpreter of this process, 3.10 to 3.14, and what the calling thread runs in it.
 *
 * Only the calling thread's own frames are read: the thread is inside a call, so they do not
 * change.  Nothing of the interpreter is called, and its lock is not needed.
 */
#ifndef HP_TRACE_INTERPRETER_H
#define HP_TRACE_INTERPRETER_H

#include "trace/python_frames.h"

/*
 * Looks for an interpreter unless one is known or nothing was loaded since the last time.  Then
 * looks how it knows its threads, unless that is known, in the calling thread.  Takes the loader's
 * lock; no lock of ours may be held.
 */
void interpreter_look(void);

/*
 * Writes the calling thread's innermost frames, `most` at most.  Returns how many; 0: it runs no
 * Python, or nothing is known of the interpreter.  Any thread, in a signal handler too.
 */
size_t interpreter_frames(size_t most, struct python_frame *ret);

/* Of a frame that interpreter_frames() has just returned in this thread.  False: no sense in it. */
bool interpreter_place(const struct python_frame *frame, struct python_place *ret);

#endif
