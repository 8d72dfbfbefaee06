/*
 * State of the whole process that every copy reads: whether hotpin acts, and what the program has
 * done.
 */
#ifndef HP_ENGINE_STATE_H
#define HP_ENGINE_STATE_H

#include "base/cancel.h"
#include "base/protections.h"

#include <stdatomic.h>
#include <stdbool.h>

/*
 * True if hotpin acts in this process.  shim_start() sets it; libcuda_find() clears it before the
 * driver is first called.  Any thread reads it.
 */
extern _Atomic bool state_acts;

static inline bool state_active(void)
{
	return atomic_load_explicit(&state_acts, memory_order_relaxed);
}

/* The process that acts; a child of vfork() shares this word, but has an id of its own. */
extern _Atomic int state_process;

/* True once cuInit() has succeeded in this process or its parent. */
extern _Atomic bool state_device_found;

/* Active stream captures (engine/capture.h); while there are any, copies ask about their stream. */
extern _Atomic int state_captures;

/* True if a capture is active: then nothing is staged, pipelined or deferred. */
static inline bool state_captures_live(void)
{
	return atomic_load(&state_captures) != 0 && hp_keeps(plain_during_captures);
}

/* Threads between state_enqueue_begin() and state_enqueue_end(). */
extern _Atomic unsigned state_enqueuing;

/*
 * Bracket calls that enqueue hotpin's work on the program's streams; disable cancellation.  False:
 * a capture is active, and nothing may be enqueued.  The end must follow in both cases.
 */
static inline bool state_enqueue_begin(void)
{
	hp_uncancellable_begin();
	/* Counts this thread first: a capture that begins now waits for it, or is seen here. */
	atomic_fetch_add(&state_enqueuing, 1);
	return !state_captures_live();
}

static inline void state_enqueue_end(void)
{
	atomic_fetch_sub(&state_enqueuing, 1);
	hp_uncancellable_end();
}

/*
 * True if hotpin may pass copies on without looking at them: there is no profile and no forced
 * route.  Written at the first cuInit().
 */
extern _Atomic bool state_copies_pass;

/* True if the program has made a stream that the legacy stream does not wait for. */
extern _Atomic bool state_unordered_streams;

#endif
