/*
 * Where in Python a call was made: places with a number each, which are looked up once.
 *
 * Memory is bounded, about 1 MiB, and used only where there is an interpreter.  Calls from places
 * that find no room any more have their native frames alone.
 */
#ifndef HP_TRACE_PYTHON_PLACES_H
#define HP_TRACE_PYTHON_PLACES_H

#include "trace/frames.h"
#include "trace/interpreter.h"

#define PYTHON_PLACES_MOST 8192u /* a power of two */

/* One place; the texts live as long as the process. */
struct python_source {
	const char *file, *function;
	uint32_t line;
};

/* 0 or -ENOMEM.  Once a process. */
int python_places_start(void);

/*
 * Adds the calling thread's Python frames to a way, and to its hash.  Any thread, no lock of ours
 * held.  `known` is what frames_walk() returned; if it is false, an interpreter may be looked for.
 * Returns false, too, where it is false or a frame was not seen before; what that took went to
 * hostcalls_rare().
 */
bool python_places_walk(struct frames_way *way, bool known);

/*
 * The way up from `frame` with its Python frames: the one that the thread remembers, or what is
 * written to `room`.  frames_return() must follow unless it is `room`.
 */
struct frames_way *python_places_borrow(const void *frame, struct frames_way *room);

/* Writes where another thread is now; returns the number of frames.  No lock of ours held. */
size_t python_places_of(const struct interpreter_thread *thread, uint32_t ret[FRAMES_PYTHON_MOST]);

/* A place of a way.  Takes the lock `trace`. */
void python_places_read(uint32_t place, struct python_source *ret);

#endif
