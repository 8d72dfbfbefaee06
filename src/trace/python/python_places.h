/*
 * Places in Python that make calls.  Each place has a number, and is looked up once.
 *
 * Memory is bounded, about 1 MiB, and used only if there is an interpreter.  When there is no room
 * for another place, calls from it have only their native frames.
 */
#ifndef HP_TRACE_PYTHON_PYTHON_PLACES_H
#define HP_TRACE_PYTHON_PYTHON_PLACES_H

#include "base/profile_fields.h"
#include "trace/places/frames.h"
#include "trace/python/interpreter.h"

#define PYTHON_PLACES_MOST 8192u /* a power of two */

/* Returns 0 or -ENOMEM.  Once a process. */
int python_places_start(void);

/*
 * Adds the calling thread's Python frames to a way, and to its hash.  Any thread, no lock of ours
 * held.  `known` is the result of frames_walk(); if it is false, an interpreter may be looked for.
 * The time for that and for a new frame goes to operations_rare().
 */
void python_places_walk(struct frames_way *way, bool known);

/* Writes the way up from `frame` with its Python frames.  `frame` may be NULL: unknown. */
void python_places_climb(const void *frame, struct frames_way *ret);

/*
 * Writes the current places of another thread.  Returns the number of frames.  One thread at a
 * time; no lock of ours held.
 */
size_t python_places_of(const struct interpreter_thread *thread, uint32_t ret[FRAMES_PYTHON_MOST]);

/* Reads a place of a way; the texts live as long as the process.  Takes the lock `trace`. */
void python_places_read(uint32_t place, struct profile_source *ret);

/*
 * Returns the number of texts; a text that is a file of the program's own code, by its absolute
 * path, else NULL.  Both take the lock `trace`.
 */
size_t python_places_texts(void);
const char *python_places_file(size_t text);

#endif
