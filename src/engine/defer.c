/*
 * defer.c - records, waits and joins for the tracked stream.
 *
 * A join waits only for work that plain CUDA would have waited for in the copy itself.  So no
 * program can hang in a join.  For this reason an event is recorded before other work follows.
 * Only the fallback wait_for_all_here() also waits for later work.
 */
#include "engine/defer.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/stream.h"
#include "real/contexts.h"
#include "real/relaxed.h"
#include "trace/trace.h"

#include <errno.h>

/* The event of a recorded stream is polled at every so many calls. */
#define POLL_EVERY  32

/*
 * Another thread that records the event needs some 0.3 us.  If it does not finish within
 * PATIENCE_NS, it counts as ended.
 */
#define PAUSE_NS    10000
#define PATIENCE_NS 100000000u

static CUresult record_here(void)
{
	return REAL(cuEventRecord)(tracker_event(), NULL);
}

static CUresult wait_here(void)
{
	return REAL(cuEventSynchronize)(tracker_event());
}

/* The fallback if the context has an error, or if the event was not recorded in time. */
static CUresult wait_for_all_here(void)
{
	return REAL(cuCtxSynchronize)();
}

/*
 * Makes the call in the context of the stream.  The calling thread may have another context, one
 * with an error, or none.
 */
static bool in_context(CUresult (*call)(void))
{
	CUcontext current = NULL, popped;

	if (REAL(cuCtxGetCurrent)(&current) == CUDA_SUCCESS &&
	    (current == tracker_context() || !hp_keeps(wait_in_its_context)))
		return call() == CUDA_SUCCESS;
	if (REAL(cuCtxPushCurrent_v2)(tracker_context()) != CUDA_SUCCESS)
		return false;
	bool done = call() == CUDA_SUCCESS;
	REAL(cuCtxPopCurrent_v2)(&popped);
	return done;
}

/*
 * Records the stream's event before other work follows or a thread waits.  Returns the state:
 * RECORDED or IDLE.  OPEN: the record failed.  RECORDING: another thread did not finish within
 * PATIENCE_NS.
 */
static enum tracker_state record_event(void)
{
	int saved = errno;
	uint64_t end_ns = 0;

	for (;;) {
		hp_uncancellable_begin();
		if (tracker_record()) {
			bool recorded = in_context(record_here);
			tracker_recorded(recorded);
			hp_uncancellable_end();
			errno = saved;
			return recorded ? TRACKER_RECORDED : TRACKER_OPEN;
		}
		hp_uncancellable_end();
		enum tracker_state state = tracker_state();
		if (state != TRACKER_RECORDING || (end_ns != 0 && hp_now_ns() >= end_ns)) {
			errno = saved;
			return state;
		}
		if (end_ns == 0)
			end_ns = hp_now_ns() + PATIENCE_NS;
		hp_sleep_ns(PAUSE_NS);
	}
}

void defer_join(void)
{
	if (!tracker_is_first() && hp_keeps(other_threads_end))
		tracker_end();
	if (!tracker_any())
		return;

	uint64_t enter_ns = trace_active() ? hp_now_ns() : 0;
	struct relaxed relaxed = relaxed_begin();
	enum tracker_state state = record_event();
	if (state != TRACKER_IDLE && hp_keeps(order_joins) &&
	    (state != TRACKER_RECORDED || !in_context(wait_here)))
		in_context(wait_for_all_here);
	relaxed_end(&relaxed);
	tracker_complete(state);
	hp_count(joins);
	if (enter_ns != 0)
		trace_joined(enter_ns, hp_now_ns());
}

void defer_called(void)
{
	if (!tracker_is_first())
		defer_join();
}

/* Returns what is known of work on `stream`. */
static struct tracker_work work_on(CUstream stream)
{
	struct tracker_work work = { .known = false };
	unsigned flags = 0;

	if (stream == GATE_NO_STREAM || REAL(cuCtxGetCurrent)(&work.context) != CUDA_SUCCESS)
		return work;
	work.known = stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
	if (work.known)
		return work;
	work.known = REAL(cuStreamGetFlags)(stream, &flags) == CUDA_SUCCESS &&
		     REAL(cuStreamGetCtx)(stream, &work.context) == CUDA_SUCCESS;
	work.non_blocking = (flags & CU_STREAM_NON_BLOCKING) != 0;
	return work;
}

/* Deferred copies so far.  Used by the first thread, as are the variables below. */
static unsigned copies;

/* The last wait on a stream: the same wait again would change nothing. */
static struct {
	unsigned copies;
	unsigned long long stream;
} last_wait;

static void make_wait(CUstream stream)
{
	unsigned long long id = 0;
	enum tracker_state state = record_event();

	if (state == TRACKER_IDLE || !hp_keeps(order_waits))
		return;
	bool has_id = REAL_HAS(cuStreamGetId) && REAL(cuStreamGetId)(stream, &id) == CUDA_SUCCESS;
	if (has_id && (last_wait.copies == copies || !hp_keeps(order_each_copy)) &&
	    (last_wait.stream == id || !hp_keeps(order_each_stream)))
		return;
	hp_count(orders);
	if (state != TRACKER_RECORDED ||
	    REAL(cuStreamWaitEvent)(stream, tracker_event(), 0) != CUDA_SUCCESS) {
		defer_join();
		return;
	}
	last_wait.copies = copies;
	last_wait.stream = has_id ? id : 0;
}

/* Called for work that CUDA itself orders behind the copies, except copies on an open stream. */
static void pass_by(enum tracker_state state)
{
	static unsigned passed;

	if (state == TRACKER_OPEN && hp_keeps(record_before_work))
		record_event();
	else if (state == TRACKER_RECORDED && ++passed % POLL_EVERY == 0 &&
		 REAL(cuEventQuery)(tracker_event()) == CUDA_SUCCESS)
		tracker_complete(state);
}

/* Updated while copies are in flight only. */
static bool upload_is_last;

bool defer_upload_is_last(void)
{
	return upload_is_last;
}

static void order_behind(CUstream stream, bool is_copy)
{
	enum tracker_state state = tracker_state();

	if (state == TRACKER_IDLE)
		return;
	struct tracker_work work = work_on(stream);
	if (!is_copy)
		upload_is_last = false;
	switch (tracker_order_of(tracker_context(), &work)) {
	case TRACKER_INHERENT:
		if (!is_copy || state != TRACKER_OPEN)
			pass_by(state);
		break;
	case TRACKER_EVENT:
		make_wait(stream);
		break;
	case TRACKER_JOIN:
		defer_join();
		break;
	}
}

void defer_gate(enum real_row row, CUstream stream)
{
	const enum real_class class = (enum real_class)real_driver_facts[row].class;

	if (class == REAL_PASS || class == REAL_LOCAL || !hp_keeps(gate))
		return;
	defer_called();
	if (class != REAL_COPY && class != REAL_ENQUEUE)
		defer_join();
	else if (stream != GATE_NO_WORK)
		order_behind(stream, class == REAL_COPY);
}

void defer_add(void)
{
	upload_is_last = true;
	copies++;
	if (!tracker_publish())
		stream_wait(NULL, false);
}

/*
 * True if a kernel that can print was launched: a synchronous copy flushes the output of printf().
 * The driver then refuses to set the size of the printf buffer, even to its current value (cuda.h,
 * cuCtxSetLimit; H200, driver 580.159: 0.1 us, also while kernels run).
 */
static bool prints(void)
{
	size_t bytes = 0;

	return REAL(cuCtxGetLimit)(&bytes, CU_LIMIT_PRINTF_FIFO_SIZE) != CUDA_SUCCESS ||
	       REAL(cuCtxSetLimit)(CU_LIMIT_PRINTF_FIFO_SIZE, bytes) != CUDA_SUCCESS;
}

static bool make_event(CUcontext context)
{
	CUevent event = NULL;

	if (REAL(cuEventCreate)(&event, contexts_event_flags()) != CUDA_SUCCESS)
		return false;
	if (tracker_make(context, event))
		return true;
	REAL(cuEventDestroy_v2)(event);
	return false;
}

bool defer_is_possible(void)
{
	CUcontext context = NULL;

	defer_called();
	if (!tracker_is_first() || !tracker_is_alone()) {
		hp_count(kept_threads);
		return false;
	}
	if (visibility_now != 0) {
		visibility_count();
		return false;
	}
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return false;
	/* No kernel has followed an open stream's last copy. */
	if (tracker_state() == TRACKER_OPEN && tracker_context() == context)
		return true;
	if (hp_keeps(visible_printf) && prints()) {
		visibility_raise(REAL_SEEN_PRINTF);
		visibility_count();
		return false;
	}
	return (tracker_knows(context) || make_event(context)) && tracker_follow(context);
}

bool defer_is_awaited(void)
{
	CUcontext context = NULL;

	return tracker_is_first() && REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS &&
	       context == tracker_context();
}
