/*
 * What happens before a driver function runs.
 */
#ifndef HP_SHIM_DRIVER_ENTER_H
#define HP_SHIM_DRIVER_ENTER_H

#include "engine/gate.h"
#include "shim/driver/frame.h"
#include "shim/export.h"

/*
 * thunk.S calls this while the gate is closed; returns the driver's function, to which it jumps.
 * frame->row is one of enum real_row, or REAL_ROW_COUNT plus the number of an unknown function.
 */
void *shim_gate_enter(const struct shim_frame *frame);

/* The gate is closed and `row` is about to run on `stream`: does what the gate's bits ask for. */
void shim_gate_pass(enum real_row row, CUstream stream);

/* Every wrapper starts with one of these. */
static inline void shim_enter_on(enum real_row row, CUstream stream)
{
	if (__builtin_expect(atomic_load_explicit(&gate_word, memory_order_relaxed) != 0, 0))
		shim_gate_pass(row, stream);
}

static inline void shim_enter(enum real_row row)
{
	shim_enter_on(row, GATE_NO_STREAM);
}

/* The number of calls of each row while GATE_TALLY was closed. */
extern _Atomic uint64_t shim_tally[REAL_ROW_COUNT];

#endif
