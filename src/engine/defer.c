/*
 * defer.c - records, waits and joins for the tracked streams.
 *
 * A join waits only for work that plain CUDA would have waited for in the copy itself.  So no
 * program can hang in a join.  For this reason an event is recorded before other work follows.
 * Only the fallback wait_for_all_here() also waits for later work.
 */
#include "engine/defer.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/options.h"
#include "base/protections.h"
#include "base/users.h"
#include "engine/state.h"
#include "engine/stream.h"
#include "real/handles.h"
#include "real/relaxed.h"
#include "trace/trace.h"

#include <errno.h>

/* The event of a recorded stream is polled at every so many calls. */
#define POLL_EVERY  32

/*
 * A thread records the event in some 0.3 us, so threads that wait for the record spin at first.  A
 * thread that does not finish within PATIENCE_NS counts as ended.
 */
#define TURNS_AWAKE 1000
#define PAUSE_NS    10000
#define PATIENCE_NS 100000000u

static CUresult record_here(const struct tracker_stream *tracked)
{
	return REAL(cuEventRecord)(tracked->event, NULL);
}

static CUresult wait_here(const struct tracker_stream *tracked)
{
	return REAL(cuEventSynchronize)(tracked->event);
}

/* The fallback if the context has an error, or if the event was not recorded in time. */
static CUresult wait_for_all_here(const struct tracker_stream *tracked)
{
	(void)tracked;
	return REAL(cuCtxSynchronize)();
}

/*
 * Makes the calls in the context of the stream.  The calling thread may have another context, one
 * with an error, or none.
 */
static bool in_context(const struct tracker_stream *tracked,
		       CUresult (*call)(const struct tracker_stream *tracked))
{
	CUcontext current = NULL, context = atomic_load(&tracked->context), popped;

	if (REAL(cuCtxGetCurrent)(&current) == CUDA_SUCCESS &&
	    (current == context || !hp_keeps(wait_in_its_context)))
		return call(tracked) == CUDA_SUCCESS;
	if (REAL(cuCtxPushCurrent_v2)(context) != CUDA_SUCCESS)
		return false;
	bool done = call(tracked) == CUDA_SUCCESS;
	REAL(cuCtxPopCurrent_v2)(&popped);
	return done;
}

/*
 * Records the stream's event before other work follows or a thread waits.  Returns the word:
 * RECORDED or IDLE.  OPEN: the record failed, or another copy has followed.  RECORDING: another
 * thread did not finish within PATIENCE_NS.
 */
static tracker_word record_event(struct tracker_stream *tracked)
{
	int saved = errno;
	uint64_t end_ns = 0;

	for (int turn = 0;; turn++) {
		tracker_word word = atomic_load(&tracked->word);

		if ((word & TRACKER_STATE) == TRACKER_OPEN && tracker_record(tracked, &word)) {
			hp_uncancellable_begin();
			bool recorded = in_context(tracked, record_here);
			tracker_recorded(tracked, word, recorded);
			hp_uncancellable_end();
			if (!recorded)
				return atomic_load(&tracked->word);
		}
		word = atomic_load(&tracked->word);
		if ((word & TRACKER_STATE) != TRACKER_RECORDING ||
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

static void join(struct tracker_stream *tracked)
{
	if ((atomic_load(&tracked->word) & TRACKER_STATE) == TRACKER_IDLE)
		return;

	uint64_t enter_ns = trace_active() ? hp_now_ns() : 0;
	struct relaxed relaxed = relaxed_begin();
	tracker_word word = record_event(tracked);
	if ((word & TRACKER_STATE) != TRACKER_IDLE && hp_keeps(order_joins) &&
	    ((word & TRACKER_STATE) != TRACKER_RECORDED || !in_context(tracked, wait_here)))
		in_context(tracked, wait_for_all_here);
	relaxed_end(&relaxed);
	tracker_complete(tracked, word);
	hp_count(joins);
	if (enter_ns != 0)
		trace_joined(enter_ns, hp_now_ns());
}

void defer_join(void)
{
	for (size_t i = 0; i < TRACKER_STREAMS; i++)
		join(&tracker_streams[i]);
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

/* The last wait that this thread has put on a stream: the same wait again would change nothing. */
static __thread struct {
	const struct tracker_stream *tracked;
	tracker_word word;
	unsigned long long stream;
} last_wait __attribute__((tls_model("initial-exec")));

static void make_wait(struct tracker_stream *tracked, CUstream stream)
{
	unsigned long long id = 0;
	tracker_word word = record_event(tracked);

	if ((word & TRACKER_STATE) == TRACKER_IDLE || !hp_keeps(order_waits))
		return;
	bool has_id = REAL_HAS(cuStreamGetId) && REAL(cuStreamGetId)(stream, &id) == CUDA_SUCCESS;
	if (has_id && last_wait.tracked == tracked &&
	    (last_wait.word == word || !hp_keeps(order_each_copy)) &&
	    (last_wait.stream == id || !hp_keeps(order_each_stream)))
		return;
	hp_count(orders);
	if ((word & TRACKER_STATE) != TRACKER_RECORDED ||
	    REAL(cuStreamWaitEvent)(stream, tracked->event, 0) != CUDA_SUCCESS) {
		join(tracked);
		return;
	}
	last_wait.tracked = tracked;
	last_wait.word = word;
	last_wait.stream = has_id ? id : 0;
}

/* Called for work that CUDA itself orders behind the copies, except copies on an open stream. */
static void pass_by(struct tracker_stream *tracked, tracker_word word)
{
	static __thread unsigned passed __attribute__((tls_model("initial-exec")));

	if ((word & TRACKER_STATE) == TRACKER_OPEN && hp_keeps(record_before_work))
		record_event(tracked);
	else if ((word & TRACKER_STATE) == TRACKER_RECORDED && ++passed % POLL_EVERY == 0 &&
		 REAL(cuEventQuery)(tracked->event) == CUDA_SUCCESS)
		tracker_complete(tracked, word);
}

/* Updated while copies are in flight only. */
static __thread bool upload_is_last __attribute__((tls_model("initial-exec")));

bool defer_upload_is_last(void)
{
	return upload_is_last;
}

static void order_behind_all(CUstream stream, bool is_copy)
{
	struct tracker_work work = work_on(stream);

	if (!is_copy)
		upload_is_last = false;
	for (size_t i = 0; i < TRACKER_STREAMS; i++) {
		struct tracker_stream *tracked = &tracker_streams[i];
		tracker_word word = atomic_load(&tracked->word);

		if ((word & TRACKER_STATE) == TRACKER_IDLE)
			continue;
		switch (tracker_order_of(atomic_load(&tracked->context), &work)) {
		case TRACKER_INHERENT:
			if (!is_copy || (word & TRACKER_STATE) != TRACKER_OPEN)
				pass_by(tracked, word);
			break;
		case TRACKER_EVENT:
			make_wait(tracked, stream);
			break;
		case TRACKER_JOIN:
			join(tracked);
			break;
		}
	}
}

void defer_gate(enum real_row row, CUstream stream)
{
	const enum real_class class = (enum real_class)real_driver_facts[row].class;

	if (class == REAL_PASS || class == REAL_LOCAL ||
	    !hp_keeps_one(real_class_protections[class]))
		return;
	if (class != REAL_COPY && class != REAL_ENQUEUE)
		defer_join();
	else if (stream != GATE_NO_WORK)
		order_behind_all(stream, class == REAL_COPY);
}

void defer_add(struct tracker_stream *tracked)
{
	upload_is_last = true;
	tracker_add(tracked);
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

static struct tracker_stream *make_stream(CUcontext context)
{
	CUevent event = NULL, spare = NULL;

	if (REAL(cuEventCreate)(&event, handles_event_flags()) != CUDA_SUCCESS)
		return NULL;
	struct tracker_stream *tracked = tracker_make(context, event, &spare);
	if (spare != NULL)
		REAL(cuEventDestroy_v2)(spare);
	return tracked;
}

struct tracker_stream *defer_stream(void)
{
	CUcontext context = NULL;

	if (visibility_now != 0) {
		visibility_count();
		return NULL;
	}
	if (REAL(cuCtxGetCurrent)(&context) != CUDA_SUCCESS || context == NULL)
		return NULL;
	struct tracker_stream *tracked = tracker_find(context);
	/* No kernel has followed an open stream's last copy. */
	if (tracked != NULL && (atomic_load(&tracked->word) & TRACKER_STATE) == TRACKER_OPEN)
		return tracked;
	if (hp_keeps(visible_printf) && prints()) {
		visibility_raise(REAL_SEEN_PRINTF);
		visibility_count();
		return NULL;
	}
	return tracked != NULL ? tracked : make_stream(context);
}

struct tracker_stream *defer_seen(tracker_word *ret_word)
{
	CUcontext context = NULL;
	struct tracker_stream *tracked = NULL;

	if (REAL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS)
		tracked = tracker_find(context);
	if (tracked != NULL)
		*ret_word = atomic_load(&tracked->word);
	return tracked;
}
