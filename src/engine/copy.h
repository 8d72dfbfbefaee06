/*
 * One copy from the wrapper's call to its return code.
 *
 *	struct copy_request request = { .direction = TRACE_H2D, .host = src, .bytes = n };
 *	struct copy copy;
 *
 *	copy_begin(&copy, &request);
 *	while (copy_next(&copy))
 *		copy.result = REAL(x)(dst + copy.done, copy.from, copy.now);
 *	return copy_end(&copy);
 */
#ifndef HP_ENGINE_COPY_H
#define HP_ENGINE_COPY_H

#include "engine/copy_state.h"
#include "engine/gate.h"
#include "engine/state.h"
#include "heap/heap.h"

/*
 * True if hotpin has no part in a run of `bytes` between `host` and `device`.  Such copies must not
 * touch more than these few cache lines: the structs of the others take forty.
 */
static inline bool copy_passes(bool to_device, const void *host, CUdeviceptr device, size_t bytes)
{
	return atomic_load_explicit(&gate_word, memory_order_relaxed) == 0 &&
	       atomic_load_explicit(&state_copies_pass, memory_order_relaxed) &&
	       atomic_load_explicit(&state_captures, memory_order_relaxed) == 0 &&
	       bytes < copy_stage_least(to_device) && !heap_owns(host) &&
	       !heap_owns((const void *)device);
}

/* Plans the copy.  `request` is valid until copy_end(). */
void copy_begin(struct copy *copy, const struct copy_request *request);

/* True: run the driver's function for the piece.  Carries out what the route does itself. */
bool copy_next(struct copy *copy);

/* Keeps the promises that the driver's call did not keep.  Returns what the wrapper returns. */
CUresult copy_end(struct copy *copy);

/*
 * A synchronous D2H copy has completed: all work before it has, except on unordered streams where
 * it ran on the legacy stream.
 */
void copy_showed_idle(bool per_thread);

#endif
