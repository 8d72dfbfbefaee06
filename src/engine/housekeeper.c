/*
 * housekeeper.c - a thread that gives back unused memory and pins, even while the program makes no
 * calls.  It looks once a second while anything is kept, and sleeps otherwise.
 *
 * cuMemHostUnregister() waits for all running kernels and delays launches of other threads.  So
 * hotpin calls it neither from free() nor while the device may have work.  No work may start
 * between two such calls either.  A kernel may run until the program makes its next call; the
 * second unregistration would wait for the kernel, and the program for the unregistration.  So new
 * work waits at the gate.  test/model/gate.pml is a model of that.
 */
#include "engine/housekeeper.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/gate.h"
#include "engine/unpin.h"
#include "heap/cache.h"
#include "heap/limits.h"
#include "heap/reclaim.h"
#include "pin/unpin.h"
#include "pin/pin.h"
#include "pin/pinning.h"
#include "real/contexts.h"

#include <limits.h>

#define MS_NS        ((uint64_t)1000000)
#define TICK_NS      (1000 * MS_NS)
#define STACK_BYTES  ((size_t)256 << 10)

/* In this time calls that have passed the gate reach the driver; and then an event completes. */
#define REST_NS      (5 * MS_NS)
#define ANSWER_NS    MS_NS

/*
 * New work waits for unpinning no longer than this: its thread may hold what the unpinning needs.
 */
#define PATIENCE_NS  (1000 * MS_NS)

/* The most bytes to unpin before new work may pass: about 1 ms. */
#define BYTES_A_TURN ((size_t)64 << 20)

static _Atomic bool started;
_Atomic bool housekeeper_sleeps;

/* Used by the thread only. */
static enum pressure_level pressure;

/* Written in the driver section, by the housekeeper.  Valid while events_generation is current. */
static struct context_event {
	CUcontext context;
	CUevent event;
} events[CONTEXTS_MOST];
static int events_used;
static uint32_t events_generation; /* contexts_generation() when the events were created */

static bool cannot_ask; /* cuCtxRecordEvent() is not supported */

/*
 * The driver section: the thread's calls of the driver, which must not overlap with the end of a
 * context, which invalidates handles, nor with the end of the process.
 */
enum section {
	SECTION_ASKS = 1, /* asks about contexts; some microseconds */
	SECTION_PINS,     /* pins or unpins blocks; their words keep their contexts alive */
};

static _Atomic uint32_t current; /* enum section, or 0; a futex */

static void section_end(void)
{
	atomic_store(&current, 0);
	hp_wake(&current, INT_MAX);
}

/*
 * Enters, in the relaxed capture mode: the calls harm no capture, except those that record an event
 * in a context.  False: pin_hold() is in force.  The thread says where it is, and then reads that;
 * other threads do it the other way round.
 */
static bool section_begin(enum section section)
{
	static bool is_relaxed;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	atomic_store(&current, section);
	if (pin_is_held() && hp_keeps(driver_section_blocked)) {
		section_end();
		return false;
	}
	if (!is_relaxed)
		is_relaxed = REAL(cuThreadExchangeStreamCaptureMode)(&mode) == CUDA_SUCCESS;
	return true;
}

void housekeeper_wait(bool pins, uint64_t until_ns)
{
	uint32_t seen;

	while ((seen = atomic_load(&current)) == SECTION_ASKS || (pins && seen != 0))
		if (!hp_wait_until(&current, seen, until_ns))
			return;
}

/* In the driver section. */
static void destroy_events(void)
{
	/*
	 * A context that ends destroys its events.  If any has ended, the other events are leaked.
	 */
	while (events_used > 0) {
		struct context_event *one = &events[--events_used];

		if (events_generation == contexts_generation() &&
		    REAL(cuCtxSetCurrent)(one->context) == CUDA_SUCCESS)
			REAL(cuEventDestroy_v2)(one->event);
	}
}

/* Records an event behind all work of the context.  In the driver section. */
static CUresult record_all_work(CUcontext context)
{
	struct context_event one = { .context = context };
	CUresult result = REAL(cuCtxSetCurrent)(context);

	if (result == CUDA_SUCCESS)
		result = REAL(cuEventCreate)(&one.event, CU_EVENT_DISABLE_TIMING);
	if (result != CUDA_SUCCESS)
		return result;
	events[events_used++] = one;
	return REAL(cuCtxRecordEvent)(context, one.event);
}

/* In the driver section. */
static CUresult record_every_context(void)
{
	CUcontext list[CONTEXTS_MOST];
	int count = contexts_list(list);
	CUresult result = CUDA_SUCCESS;

	destroy_events();
	events_generation = contexts_generation();
	for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
		result = record_all_work(list[i]);
	/* The driver reports an event that was never recorded as complete. */
	if (result != CUDA_SUCCESS)
		destroy_events();
	REAL(cuCtxSetCurrent)(NULL);
	return count < 0 ? CUDA_ERROR_UNKNOWN : result;
}

static bool is_only_context(void)
{
	CUcontext list[CONTEXTS_MOST];
	int count = contexts_list(list);

	return count == 1 || !hp_keeps(unpinned_with_one_context);
}

/*
 * Begins a question about the work that all contexts have now.  False: it cannot be asked now.  A
 * driver that cannot answer is not asked: true if there is one context only.
 *
 * The question needs cuCtxRecordEvent() of CUDA 12.5.  With older drivers, an event on the legacy
 * stream is no substitute: it does not cover non-blocking streams, and later work on any blocking
 * stream would wait for all work that runs now.
 *
 * cuCtxRecordEvent() invalidates captures (cuda.h).  A capture that begins waits for the end of
 * such a call, and prevents later ones (housekeeper_wait()).
 */
static bool idle_ask(void)
{
	if (cannot_ask || !REAL_HAS(cuCtxRecordEvent))
		return is_only_context();
	if (!section_begin(SECTION_ASKS))
		return false;

	CUresult result = record_every_context();
	section_end();
	cannot_ask = result == CUDA_ERROR_NOT_SUPPORTED;
	return result == CUDA_SUCCESS;
}

/* In the driver section. */
static bool are_complete(void)
{
	for (int i = 0; i < events_used; i++)
		if (REAL(cuCtxSetCurrent)(events[i].context) != CUDA_SUCCESS ||
		    REAL(cuEventQuery)(events[i].event) != CUDA_SUCCESS)
			return false;
	return true;
}

/*
 * True if all that work is complete, or the driver was not asked.  It cannot be complete a few
 * microseconds after idle_ask(), since it includes the events of the question itself.
 */
static bool idle_is(void)
{
	if (!section_begin(SECTION_ASKS))
		return false;

	bool is =
		events_used == 0 || (events_generation == contexts_generation() && are_complete());
	destroy_events();
	REAL(cuCtxSetCurrent)(NULL);
	section_end();
	return is;
}
/*
 * True while no work has passed the gate since the bit was set.  Work clears GATE_WATCHED before it
 * waits at the gate, and GATE_CLOSED after it has waited for too long.
 */
static bool is_set(enum gate_bit bit)
{
	return (atomic_load(&gate_word) & bit) != 0 || !hp_keeps(unpinned_while_idle);
}

/*
 * True if no work passes the gate for a while, and all earlier work is complete.  Asks again until
 * `end_ns`.
 */
static bool is_at_rest(enum gate_bit bit, uint64_t end_ns)
{
	do {
		if (hp_keeps(unpinned_after_pause))
			hp_sleep_ns(REST_NS);
		if (!is_set(bit) || !idle_ask())
			return false;
		hp_sleep_ns(ANSWER_NS);
		if (idle_is())
			return true;
	} while (hp_now_ns() < end_ns);
	return false;
}

void housekeeper_work_submitted(void)
{
	uint64_t end_ns = hp_now_ns() + PATIENCE_NS;
	uint32_t gate;

	gate_clear(GATE_WATCHED);
	while (((gate = atomic_load(&gate_word)) & GATE_CLOSED) != 0)
		/* Later calls do not wait again for what this one has waited for. */
		if (!hp_wait_until(&gate_word, gate, end_ns))
			gate_clear(GATE_CLOSED);
}

static void look_at_pressure(void)
{
	struct limits limits;

	limits_look("", &limits);

	enum pressure_level level = limits_pressure(&limits);
	if (level != pressure)
		hp_debug("memory is %s", level == PRESSURE_NONE   ? "plentiful again"
					 : level == PRESSURE_SOME ? "getting short"
								  : "short");
	heap_set_memory(&limits);
	pin_set_pressure(level != PRESSURE_NONE);
	pressure = level;
}

/*
 * Registering does not wait for the device, so the device need not be idle.  Words that were left
 * to this thread are given back in any case: what keeps it from registering may wait for them.
 */
static void pin_the_queue(void)
{
	while (pin_has_queued()) {
		bool may_pin = !fork_waits() && section_begin(SECTION_PINS);
		size_t done = pin_queued(may_pin ? BYTES_A_TURN : 0);

		if (may_pin)
			section_end();
		if (done == 0)
			return;
	}
}

/*
 * Blocks in use are unpinned, too, if memory is short, because pinned memory cannot be swapped, and
 * before a fork().
 */
static size_t unpin_some(void)
{
	bool in_use = pressure == PRESSURE_SEVERE || fork_waits();

	return in_use ? pin_evict(BYTES_A_TURN) : pin_evict_due(BYTES_A_TURN);
}

/*
 * Unpins what is due while the device is idle.  A program that always has work never lets the
 * device rest: if memory is short, its new work waits at the gate from the start, for a second at
 * most.
 */
static void unpin(void)
{
	bool is_short = pressure == PRESSURE_SEVERE;
	enum gate_bit bit = is_short ? GATE_CLOSED : GATE_WATCHED;
	uint64_t end_ns = is_short ? hp_now_ns() + PATIENCE_NS : 0;
	size_t done = 1;

	gate_set(bit);
	if (is_at_rest(bit, end_ns)) {
		if (!is_short && hp_keeps(unpinned_alone))
			gate_set(GATE_CLOSED);
		while (done != 0 && is_set(bit) && section_begin(SECTION_PINS)) {
			done = unpin_some();
			section_end();
		}
	}
	gate_clear(GATE_WATCHED | GATE_CLOSED);
	hp_wake(&gate_word, INT_MAX);
}

static bool must_unpin(void)
{
	return heap_any_due() || (pressure == PRESSURE_SEVERE && pin_bytes() != 0);
}

/* Any thread. */
static bool keeps_memory(void)
{
	return heap_needs_expiry() || pin_bytes() != 0;
}

/*
 * Returns the time of the next look.  A thread that begins to keep something does so first, and
 * then reads housekeeper_sleeps.
 */
static uint64_t next_look(void)
{
	atomic_store(&housekeeper_sleeps, true);
	if (!keeps_memory() && pressure == PRESSURE_NONE)
		return UINT64_MAX;
	atomic_store(&housekeeper_sleeps, false);
	return hp_now_ns() + TICK_NS;
}

static void *housekeep(void *arg)
{
	uint64_t due_ns = UINT64_MAX;

	for (;;) {
		uint32_t heard = atomic_load(&pin_bell), forks = fork_asked();
		bool is_due = hp_now_ns() >= due_ns;

		if (is_due) {
			look_at_pressure();
			heap_expire(hp_now_ns());
		}
		pin_the_queue();
		if ((is_due && must_unpin()) || fork_waits())
			unpin();
		fork_answer(forks);
		if (is_due || due_ns == UINT64_MAX)
			due_ns = next_look();
		hp_wait_until(&pin_bell, heard, due_ns);
	}
	return arg;
}

void housekeeper_start(void)
{
	if (atomic_exchange(&started, true))
		return;
	if (hp_thread_start(housekeep, STACK_BYTES) == 0) {
		pin_set_thread();
		heap_set_attended(true, 0);
	} else {
		hp_debug("no thread for unpinning: freed pinned buffers are kept");
	}
}

bool housekeeper_call(void)
{
	if (!pin_has_thread())
		return false;
	hp_ring(&pin_bell);
	return true;
}

void housekeeper_wake(void)
{
	if (keeps_memory() && atomic_exchange(&housekeeper_sleeps, false))
		hp_ring(&pin_bell);
}

void housekeeper_forget(void)
{
	atomic_store(&started, false);
	atomic_store(&housekeeper_sleeps, false);
	fork_forget();
	section_end();
	gate_clear(GATE_WATCHED | GATE_CLOSED);
}
