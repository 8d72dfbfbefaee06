/*
 * enter.c - passes calls through the closed gate.  The open gate is one load and a branch in
 * thunk.S.
 */
#include "shim/driver/enter.h"
#include "base/protections.h"
#include "engine/defer.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "shim/driver/libcuda.h"
#include "shim/driver/unknown.h"
#include "shim/load/start.h"
#include "trace/trace.h"

static const uint8_t stacked[REAL_ROW_COUNT] = {
#define STACKED(name, words) [REAL_ROW_##name] = (words),
#include "shim/driver/stacked.def"
};

static void note_launch(enum real_launch launch)
{
	if (launch == REAL_LAUNCHES_GRAPH)
		trace_launched(TRACE_LAUNCH_GRAPH);
	else if (launch == REAL_LAUNCHES_KERNEL)
		trace_launched(atomic_load_explicit(&state_captures, memory_order_relaxed) == 0
				       ? TRACE_LAUNCH_KERNEL
				       : TRACE_LAUNCH_CAPTURED);
}

static bool may_put_work(enum real_class class)
{
	return class != REAL_PASS && class != REAL_LOCAL && class != REAL_OBSERVE &&
	       class != REAL_WAIT && class != REAL_CAPTURE;
}

void shim_gate_pass(enum real_row row, CUstream stream)
{
	uint32_t gate = atomic_load_explicit(&gate_word, memory_order_relaxed);

	if (gate & GATE_UNREADY) {
		shim_start();
		if (!libcuda_find(NULL))
			libcuda_is_missing();
	}
	if (gate & GATE_LOADED)
		unknown_look_again();

	const struct real_driver_fact *fact = &real_driver_facts[row];
	if (gate & GATE_DEFERRED) {
		defer_gate(row, stream);
		/* Other bits may have changed while defer_gate() waited. */
		if (hp_keeps(gate_read_again))
			gate = atomic_load_explicit(&gate_word, memory_order_relaxed);
	}
	if ((gate & (GATE_WATCHED | GATE_CLOSED)) && may_put_work(fact->class))
		housekeeper_work_submitted();
	if (gate & GATE_PROFILE)
		note_launch((enum real_launch)fact->launch);
}

/* The stream that a gated call names. */
static CUstream stream_of(const struct real_driver_fact *fact, const struct shim_frame *frame)
{
	const size_t registers = sizeof(frame->argument) / sizeof(frame->argument[0]);
	size_t index = (size_t)fact->stream;

	if (fact->stream == REAL_CONFIG_STREAM) {
		const CUlaunchConfig *config = (const CUlaunchConfig *)frame->argument[0];

		return config != NULL ? config->hStream : GATE_NO_STREAM;
	}
	if (fact->stream == REAL_NO_STREAM)
		return GATE_NO_STREAM;
	return (CUstream)(index < registers ? frame->argument[index]
					    : frame->stacked[index - registers]);
}

struct shim_way shim_gate_enter(struct shim_frame *frame)
{
	uint32_t gate = atomic_load_explicit(&gate_word, memory_order_relaxed);
	struct shim_way way = { .timed = 0 };

	if (frame->row >= REAL_ROW_COUNT)
		return (struct shim_way){ unknown_enter(frame->row - REAL_ROW_COUNT), 0 };

	const struct real_driver_fact *fact = &real_driver_facts[frame->row];
	if (gate & GATE_PROFILE) {
		frame->enter_ns = hp_now_ns();
		way.timed = 1u + stacked[frame->row];
	}
	/* Most calls of a profile are timed, and nothing else. */
	if (gate != GATE_PROFILE || fact->launch != REAL_NO_LAUNCH)
		shim_gate_pass((enum real_row)frame->row, stream_of(fact, frame));
	visibility_raise((enum real_visibility)fact->visibility);
	way.function = atomic_load_explicit(&real_driver[frame->row], memory_order_acquire);
	return way;
}

void shim_gate_leave(const struct shim_frame *frame)
{
	trace_called(frame->row, frame->enter_ns, hp_now_ns(), &frame->saved_frame);
}
