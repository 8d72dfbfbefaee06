/*
 * What holds for the whole process: whether hotpin acts in it, and what the program has done so far
 * that every copy has to know.
 */
#ifndef HP_ENGINE_STATE_H
#define HP_ENGINE_STATE_H

#include "base/protections.h"

#include <stdatomic.h>
#include <stdbool.h>

/*
 * True if hotpin acts in this process.  shim_start() sets it; shim_stand_aside() takes it back
 * before the driver is first called.  Any thread reads it.
 */
extern _Atomic bool state_acts;

static inline bool state_active(void)
{
	return atomic_load_explicit(&state_acts, memory_order_relaxed);
}

/* Stream captures that live (shim/driver/capture.c); while there are any, copies ask for theirs. */
extern _Atomic int state_captures;

/* True if a capture lives: then nothing is staged, sent in pieces or deferred. */
static inline bool state_captures_live(void)
{
	return atomic_load(&state_captures) != 0 && hp_keeps(plain_beside_captures);
}

/*
 * True if copies that hotpin has no part in are only counted: no profile is asked for and no route
 * is forced.  Written at the first cuInit().
 */
extern _Atomic bool state_copies_pass;

/* The program has made a stream that the legacy stream does not wait for. */
extern _Atomic bool state_unordered_streams;

#endif
