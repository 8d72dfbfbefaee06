/*
 * Finds the callers of a driver call: the return addresses up the stack, at the cost of some loads.
 *
 * The CUDA runtime, often linked into the program, lies between the program and our wrapper.  So
 * one return address does not identify the caller.  hotpin unwinds the stack only at a new return
 * address.  Unwinding shows the distance to the next return address, which is the same each time,
 * since a call's frame has one size.  Frames of variable size, as with alloca(), are the exception:
 * there the way is cut off.
 */
#ifndef HP_TRACE_PLACES_FRAMES_H
#define HP_TRACE_PLACES_FRAMES_H

#include "trace/places/modules.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMES_MOST        8
#define FRAMES_PYTHON_MOST 3
/* A thread remembers 1 << this many ways. */
#define FRAMES_KNOWN_BITS  3

/* Return addresses, innermost first. */
struct frames_way {
	uintptr_t address[FRAMES_MOST];
	size_t depth;
	bool cut;      /* there are more, which would cost too much to find now */
	uint64_t hash; /* of both */
	/* Numbers of places, innermost first; set by python_places_walk(), not by frames_walk(). */
	uint32_t python[FRAMES_PYTHON_MOST];
	size_t python_depth;
};

/* The place of a call, which stays valid when files are unloaded. */
struct frames_place {
	size_t depth; /* 0: unknown */
	struct module_place frame[FRAMES_MOST];
	uint32_t python[FRAMES_PYTHON_MOST]; /* as in struct frames_way */
	size_t python_depth;
};

/*
 * Finds the unwinder.  Calls dlopen(): no lock of ours may be held.  Without an unwinder, a
 * way has at most one address.
 */
void frames_start(void);

/*
 * Writes the way up from a function whose __builtin_frame_address(0) is `frame`.  Any thread, no
 * lock of ours held, since a new place is unwound and looked up in the loader.  False: the place
 * was new; the time for it went to operations_rare().
 */
bool frames_walk(const void *frame, struct frames_way *ret);

/* Returns the place of a way, with the lock `trace` held. */
struct frames_place frames_place(const struct frames_way *way);

/*
 * Forgets these addresses: their code was unloaded, and other code may lie there now.  Any thread.
 */
void frames_forget(uintptr_t from, uintptr_t to);

#endif
