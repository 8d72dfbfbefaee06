/*
 * State of the whole process that every copy reads: whether hotpin acts, and what the program has
 * done.
 */
#ifndef HP_ENGINE_STATE_H
#define HP_ENGINE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * True if hotpin acts in this process.  shim_start() sets it.  libcuda_find() clears it if the
 * driver lacks a REQUIRED function, before the driver is first called.  Any thread reads it.
 */
extern _Atomic bool state_active;

/*
 * The process that acts; a child of vfork() shares this word, but has an id of its own.  Written at
 * the start and in the child of fork(); any thread reads it.
 */
extern _Atomic int state_process;

/* True once cuInit() has succeeded in this process or its parent.  Any thread. */
extern _Atomic bool state_device_found;

/*
 * Active stream captures (engine/capture.h).  While there are any, copies ask about their stream,
 * and nothing is staged or deferred.
 */
extern _Atomic int state_captures;

/*
 * True if hotpin may pass copies on without looking at them: there is no profile and no forced
 * route.  Written at the first cuInit().
 */
extern _Atomic bool state_copies_pass;

/* A bit for each reason why a driver call may not continue at once (engine/gate.h). */
extern _Atomic uint32_t gate_word;

#endif
