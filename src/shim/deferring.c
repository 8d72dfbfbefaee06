/*
 * deferring.c - records, waits and joins: what the ledger only knows of.
 *
 * A join never waits for more than plain CUDA would have waited for in the copy itself, so it can
 * never be what a program hangs in.  That is why an event is recorded before other work follows,
 * and why nothing is ever waited for by the stream.
 */
#include "shim/deferring.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/protections.h"
#include "real/relaxed.h"
#include "shim/copy.h"
#include "trace/trace.h"

#include <errno.h>

/* How many calls pass a marked lane before somebody looks whether its event has come. */
#define LOOK_EVERY  32

/*
 * A thread marks a lane for some 0.3 us, and what waits for it does not sleep at first; one that
 * never ends it has ended itself.
 */
#define TURNS_AWAKE 1000
#define PAUSE_NS    10000
#define PATIENCE_NS 100000000u

static void tell_gate(bool any)
{
	if (any)
		shim_gate_close(SHIM_GATE_DEFERRED);
	else
		shim_gate_open(SHIM_GATE_DEFERRED);
}

void shim_defer_start(void)
{
	ledger_start(tell_gate);
}

static CUresult record_here(const struct ledger_lane *lane)
{
	return atomic_load(&lane->thread) != 0 ? REAL(cuEventRecord_ptsz)(lane->event, NULL)
					       : REAL(cuEventRecord)(lane->event, NULL);
}

static CUresult wait_here(const struct ledger_lane *lane)
{
	return REAL(cuEventSynchronize)(lane->event);
}

/*
 * The context is in an error, or a thread has ended while it marked the lane: whatever was on its
 * way will not come, or comes with all the rest.
 */
static CUresult wait_for_all_here(const struct ledger_lane *lane)
{
	(void)lane;
	return REAL(cuCtxSynchronize)();
}

/* In the lane's own context: that of the calling thread may be another, in an error, or none. */
static bool in_context(const struct ledger_lane *lane,
		       CUresult (*call)(const struct ledger_lane *lane))
{
	CUcontext current = NULL, context = atomic_load(&lane->context), popped;

	if (REAL(cuCtxGetCurrent)(&current) == CUDA_SUCCESS &&
	    (current == context || !hp_keeps(wait_in_its_context)))
		return call(lane) == CUDA_SUCCESS;
	if (REAL(cuCtxPushCurrent_v2)(context) != CUDA_SUCCESS)
		return false;
	bool done = call(lane) == CUDA_SUCCESS;
	REAL(cuCtxPopCurrent_v2)(&popped);
	return done;
}

/* A stream of its own is known to its thread only, which marks its lane at once. */
static bool record(const struct ledger_lane *lane)
{
	uint32_t thread = atomic_load(&lane->thread);

	return (thread == 0 || thread == shim_thread()) && in_context(lane, record_here);
}

/* Other work is about to follow, or is waited for: returns the lane's word, no longer open. */
static ledger_word mark(struct ledger_lane *lane)
{
	int saved = errno;
	uint64_t end_ns = 0;

	for (int turn = 0;; turn++) {
		ledger_word word = atomic_load(&lane->word);

		if (ledger_state_of(word) == LEDGER_OPEN && ledger_mark(lane, &word)) {
			hp_uncancellable_begin();
			bool recorded = record(lane);
			ledger_marked(lane, word, recorded);
			hp_uncancellable_end();
			if (!recorded)
				return atomic_load(&lane->word);
		}
		word = atomic_load(&lane->word);
		if (ledger_state_of(word) != LEDGER_MARKING ||
		    (end_ns != 0 && hp_now_ns() >= end_ns)) {
			errno = saved;
			return word;
		}
		if (turn < TURNS_AWAKE)
			continue;
		if (end_ns == 0)
			end_ns = hp_now_ns() + PATIENCE_NS;
		hp_sleep_ns(PAUSE_NS);
	}
}

static void join(struct ledger_lane *lane)
{
	if (ledger_state_of(atomic_load(&lane->word)) == LEDGER_IDLE)
		return;

	uint64_t enter_ns = trace_active() ? hp_now_ns() : 0;
	struct relaxed relaxed = relaxed_begin();
	ledger_word word = mark(lane);
	if (ledger_state_of(word) != LEDGER_IDLE && hp_keeps(order_joins) &&
	    (ledger_state_of(word) != LEDGER_MARKED || !in_context(lane, wait_here)))
		in_context(lane, wait_for_all_here);
	relaxed_end(&relaxed);
	ledger_over(lane, word);
	hp_count(joins);
	if (enter_ns != 0)
		trace_joined(enter_ns, hp_now_ns());
}

void shim_defer_join(void)
{
	for (struct ledger_lane *lane = NULL; (lane = ledger_each(lane)) != NULL;)
		join(lane);
}

void shim_defer_join_own(void)
{
	for (struct ledger_lane *lane = NULL; (lane = ledger_each(lane)) != NULL;)
		if (atomic_load(&lane->thread) == shim_thread())
			join(lane);
}

static bool is_special(CUstream stream)
{
	return stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* What is known of the work that `row` puts on `stream`. */
static struct ledger_work work_on(enum real_row row, CUstream stream)
{
	struct ledger_work work = { .thread = shim_thread() };
	bool per_thread = real_is_per_thread(row);
	unsigned flags = 0;

	if (stream == SHIM_NO_STREAM || REAL(cuCtxGetCurrent)(&work.context) != CUDA_SUCCESS)
		return work;
	work.legacy = stream == CU_STREAM_LEGACY || (stream == NULL && !per_thread);
	work.own = stream == CU_STREAM_PER_THREAD || (stream == NULL && per_thread);
	work.known = true;
	if (is_special(stream))
		return work;
	work.known = REAL_HAS(cuStreamGetFlags) && REAL_HAS(cuStreamGetCtx) &&
		     REAL(cuStreamGetFlags)(stream, &flags) == CUDA_SUCCESS &&
		     REAL(cuStreamGetCtx)(stream, &work.context) == CUDA_SUCCESS;
	work.non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
	return work;
}

/* The last wait that this thread has put on a stream: a second one would be in vain. */
static __thread struct {
	const struct ledger_lane *lane;
	ledger_word word;
	unsigned long long stream;
} last_wait __attribute__((tls_model("initial-exec")));

static void make_wait(struct ledger_lane *lane, enum real_row row, CUstream stream)
{
	unsigned long long id = 0;
	ledger_word word = mark(lane);

	if (ledger_state_of(word) == LEDGER_IDLE || !hp_keeps(order_waits))
		return;
	bool has_id = REAL_HAS(cuStreamGetId) && !is_special(stream) &&
		      REAL(cuStreamGetId)(stream, &id) == CUDA_SUCCESS;
	if (has_id && last_wait.lane == lane &&
	    (last_wait.word == word || !hp_keeps(order_each_copy)) &&
	    (last_wait.stream == id || !hp_keeps(order_each_stream)))
		return;
	hp_count(orders);
	if (ledger_state_of(word) != LEDGER_MARKED ||
	    (real_is_per_thread(row) ? REAL(cuStreamWaitEvent_ptsz) : REAL(cuStreamWaitEvent))(
		    stream, lane->event, 0) != CUDA_SUCCESS) {
		join(lane);
		return;
	}
	last_wait.lane = lane;
	last_wait.word = word;
	last_wait.stream = has_id ? id : 0;
}

/* Work goes behind the lane's copies in any case; `joins_in`: it is a copy, which may be one more.
 */
static void pass_by(struct ledger_lane *lane, bool joins_in)
{
	static __thread unsigned passed __attribute__((tls_model("initial-exec")));
	ledger_word word = atomic_load(&lane->word);

	if (ledger_state_of(word) == LEDGER_OPEN && !joins_in && hp_keeps(mark_before_work))
		mark(lane);
	else if (ledger_state_of(word) == LEDGER_MARKED && ++passed % LOOK_EVERY == 0 &&
		 REAL(cuEventQuery)(lane->event) == CUDA_SUCCESS)
		ledger_over(lane, word);
}

/* As it was while nothing is outstanding. */
static __thread bool upload_is_last __attribute__((tls_model("initial-exec")));

bool shim_upload_is_last(void)
{
	return upload_is_last;
}

static void order_behind_all(enum real_row row, CUstream stream, bool is_copy)
{
	struct ledger_work work = work_on(row, stream);

	if (!is_copy)
		upload_is_last = false;

	for (struct ledger_lane *lane = NULL; (lane = ledger_each(lane)) != NULL;) {
		if (ledger_state_of(atomic_load(&lane->word)) == LEDGER_IDLE)
			continue;
		switch (ledger_order_of(atomic_load(&lane->context), atomic_load(&lane->thread),
					&work)) {
		case LEDGER_INHERENT:
			pass_by(lane, is_copy);
			break;
		case LEDGER_EVENT:
			make_wait(lane, row, stream);
			break;
		case LEDGER_JOIN:
			join(lane);
			break;
		}
	}
}

/* Each class is a protection of its own. */
static bool keeps(enum real_class class)
{
	switch (class) {
	case REAL_COPY:
		return hp_keeps(gate_copy);
	case REAL_ENQUEUE:
		return hp_keeps(gate_enqueue);
	case REAL_WAIT:
		return hp_keeps(gate_wait);
	case REAL_OBSERVE:
		return hp_keeps(gate_observe);
	case REAL_MEMORY:
		return hp_keeps(gate_memory);
	case REAL_CAPTURE:
		return hp_keeps(gate_capture);
	case REAL_LIFE:
		return hp_keeps(gate_life);
	default:
		return hp_keeps(gate_settle);
	}
}

void shim_defer_gate(enum real_row row, CUstream stream)
{
	if (!keeps(real_driver_facts[row].class))
		return;
	switch (real_driver_facts[row].class) {
	case REAL_PASS:
	case REAL_LOCAL:
		return;
	case REAL_COPY:
	case REAL_ENQUEUE:
		if (stream == SHIM_NO_WORK)
			return;
		order_behind_all(row, stream, real_driver_facts[row].class == REAL_COPY);
		return;
	default:
		shim_defer_join();
		return;
	}
}

void shim_defer_add(struct ledger_lane *lane, bool per_thread)
{
	hp_count(copies_deferred);
	upload_is_last = true;
	if (!ledger_add(lane, per_thread ? shim_thread() : 0))
		shim_stream_wait(NULL, per_thread);
	else if (per_thread && hp_keeps(mark_own_at_once))
		mark(lane);
}
