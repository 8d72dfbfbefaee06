/*
 * Who called?  The return addresses up the stack, at the price of some loads.
 *
 * Between the program and our wrapper lies the CUDA runtime, often inside the program itself, so
 * one return address says nothing.  A stack is unwound only where a return address is seen that
 * was not seen before; that tells how far above it the next one lies, which is the same each time
 * (the frame of a call has one size, except for alloca() and its kin: there the way is cut off).
 */
#ifndef HP_TRACE_FRAMES_H
#define HP_TRACE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAMES_MOST        8
#define FRAMES_PYTHON_MOST 3

/* Return addresses, innermost first. */
struct frames_way {
	uintptr_t address[FRAMES_MOST];
	size_t depth;
	bool cut;        /* there are more, and to look for them would cost too much by now */
	uint64_t hash;   /* of both */
	uint32_t name;   /* what frames_name() gave it, or FRAMES_NAMELESS */
	uint32_t launch; /* what launches_called() gave it, or 0 */
	/* By python_places_walk(): numbers of places, innermost first.  frames_walk() has none. */
	uint32_t python[FRAMES_PYTHON_MOST];
	size_t python_depth;
};

#define FRAMES_NAMELESS UINT32_MAX

/*
 * Finds the unwinder; calls dlopen(), no lock of ours may be held.  Without one, and on other
 * machines than x86-64, one address is the most.
 */
void frames_start(void);

/*
 * The way up from a function whose __builtin_frame_address(0) is `frame`.  Any thread, no lock of
 * ours held: for a new place it unwinds and asks the loader.  False: it did; what that took went to
 * hostcalls_rare().
 */
bool frames_walk(const void *frame, struct frames_way *ret);

/*
 * The way that frames_walk() would copy, where the calling thread has gone it lately; else NULL.  A
 * signal handler's walk leaves it alone until frames_return(), which must follow; or the handler
 * has left by longjmp(), and it follows then.
 */
struct frames_way *frames_borrow(const void *frame);
void frames_return(void);

/* What lay there is gone: other code may lie there now.  Any thread. */
void frames_forget(uintptr_t from, uintptr_t to);

/* Names a way that frames_walk() found, for as long as the thread remembers it. */
void frames_name(const struct frames_way *way, uint32_t name);

#endif
