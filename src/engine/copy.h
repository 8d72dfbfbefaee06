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
#include "engine/state.h"

/*
 * True if hotpin only passes a copy of `bytes` between `host` and `device` on.  Such copies touch
 * these few cache lines only; the structs of other copies take forty.
 */
static inline bool copy_passes(bool to_device, const void *host, CUdeviceptr device, size_t bytes)
{
	return atomic_load_explicit(&gate_word, memory_order_relaxed) == 0 &&
	       atomic_load_explicit(&state_copies_pass, memory_order_relaxed) &&
	       atomic_load_explicit(&state_captures, memory_order_relaxed) == 0 &&
	       bytes < copy_stage_least(to_device, true) && !heap_owns(host) &&
	       !heap_owns((const void *)device);
}

/* Plans the copy.  `request` is valid until copy_end(). */
void copy_begin(struct copy *copy, const struct copy_request *request);

/*
 * True if the caller gives the copy room on its stack, at copy.on_stack, for the bytes of the
 * block: request->extent bytes.
 */
static inline bool copy_wants_stack(const struct copy *copy)
{
	return (copy->route == COPY_BOUNCE || copy->route == COPY_DEFER) &&
	       copy->facts.values[COPY_HOST_MEMORY] != PIN_PAGEABLE &&
	       copy->request->extent <= COPY_STAGED_MOST;
}

/* Runs the route up to the driver's next call.  True: the caller makes that call for the piece. */
bool copy_next(struct copy *copy);

/* Adds the waits that pageable memory implies.  Returns what the wrapper returns. */
CUresult copy_end(struct copy *copy);

#endif
