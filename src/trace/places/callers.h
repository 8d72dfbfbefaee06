/*
 * The callers that allocated large blocks.  malloc() only notes addresses, since it may not ask the
 * loader.  The addresses are resolved when a block is copied.
 */
#ifndef HP_TRACE_PLACES_CALLERS_H
#define HP_TRACE_PLACES_CALLERS_H

#include "trace/places/frames.h"

/*
 * Notes an allocation by `allocator` (heap/site.h) that returns to `caller`.  `frame` is a
 * __builtin_frame_address(0) at or below the caller's.  Any thread, under any lock, inside
 * malloc().  Costs some loads where the allocator is known.
 */
void callers_note(uint32_t allocator, const void *caller, const void *frame);

/*
 * Resolves what callers_note() noted: up to two frames.  True: the second one is a word of the
 * stack that looks like a return address.  Takes the loader's lock: no lock of ours may be held.
 */
bool callers_find(uint32_t allocator, struct frames_place *ret);

#endif
