/*
 * The steps before a driver function runs.
 */
#ifndef HP_SHIM_DRIVER_ENTER_H
#define HP_SHIM_DRIVER_ENTER_H

#include "base/clock.h"
#include "engine/gate.h"
#include "shim/driver/frame.h"
#include "shim/export.h"
#include "trace/trace.h"

/*
 * The next step of thunk.S: it jumps to `function`.  If the call is timed, thunk.S calls `function`
 * instead, with a copy of the arguments that lie on the stack.
 */
struct shim_way {
	void *function;
	uint64_t timed; /* 0, or 1 + the words of these arguments */
};

/*
 * thunk.S calls this if the gate is closed, and always for EXPOSES rows and unknown functions.
 * frame->row is one of enum real_row, or REAL_ROW_COUNT plus the number of an unknown function.
 * Unknown functions are never timed, because their arguments are unknown.  Returns the next step.
 */
struct shim_way shim_gate_enter(struct shim_frame *frame);

/* Called when the function that was timed has returned. */
void shim_gate_leave(const struct shim_frame *frame);

/* Called before `row` runs on `stream`: does what the bits of the gate ask for, if any is set. */
void shim_gate_pass(enum real_row row, CUstream stream);

/* One call of a wrapper. */
struct shim_call {
	enum real_row row;
	const void *frame; /* the wrapper's own, for the call site */
	uint64_t enter_ns; /* 0: it is not timed */
};

/*
 * Passes the gate, which may wait.  Returns the call for shim_call_end(), which must follow.  Both
 * are inline, because a call with an open gate would cost 36 instructions more.
 */
static inline struct shim_call shim_call_begin(enum real_row row, CUstream stream,
					       const void *frame)
{
	uint32_t gate = atomic_load_explicit(&gate_word, memory_order_relaxed);
	struct shim_call call = { .row = row, .frame = frame };

	if (__builtin_expect(gate != 0, 0)) {
		if (gate & GATE_PROFILE)
			call.enter_ns = hp_now_ns();
		shim_gate_pass(row, stream);
	}
	return call;
}

static inline void shim_call_end(const struct shim_call *call)
{
	if (__builtin_expect(call->enter_ns != 0, 0))
		trace_called(call->row, call->enter_ns, hp_now_ns(), call->frame);
}

/* Note that the program has pinned a block in this call, or has ended that. */
static inline void shim_call_pinned(const struct shim_call *call, const void *block, uint64_t bytes,
				    bool registered)
{
	if (__builtin_expect(call->enter_ns != 0, 0))
		trace_program_pinned(block, bytes, registered, call->enter_ns, hp_now_ns(),
				     call->frame);
}

static inline void shim_call_unpinned(const struct shim_call *call, const void *block)
{
	if (__builtin_expect(call->enter_ns != 0, 0))
		trace_program_unpinned(block, call->enter_ns, hp_now_ns());
}

/* Every wrapper has one of these: the gate, and the call's time until the wrapper returns. */
#define SHIM_ENTER_ON(row, stream)                                                         \
	__attribute__((cleanup(shim_call_end), unused)) const struct shim_call shim_call = \
		shim_call_begin(row, stream, __builtin_frame_address(0))
#define SHIM_ENTER(row) SHIM_ENTER_ON(row, GATE_NO_STREAM)

#endif
