/*
 * idle.c - records an event behind all work of each context, and polls these events.
 *
 * The query needs cuCtxRecordEvent() of CUDA 12.5.  With older drivers, an event on the legacy
 * stream is no substitute: it does not cover non-blocking streams, and later work on any blocking
 * stream would wait for all work that runs now.
 *
 * cuCtxRecordEvent() invalidates captures (cuda.h).  A capture that begins waits for the end of
 * such a call, and prevents later ones (engine/section.h).
 */
#include "engine/idle.h"
#include "base/clock.h"
#include "base/protections.h"
#include "engine/forking.h"
#include "engine/gate.h"
#include "engine/section.h"
#include "real/contexts.h"

#define MS_NS         1000000u
#define PAUSE_FIRST   (5 * MS_NS)
#define PAUSE_MOST    (50 * MS_NS)
#define PATIENCE      (1000 * MS_NS)

/* A shorter limit while a fork() waits. */
#define FORK_PATIENCE (8 * MS_NS)

/* Written in the driver section, by the housekeeper.  Valid while events_generation is current. */
static struct context_event {
	CUcontext context;
	CUevent event;
} events[CONTEXTS_MOST];
static int events_used;
static uint32_t events_generation; /* contexts_generation() when the events were created */

/* Used by the housekeeper only. */
static bool cannot_ask; /* contexts_record() is not supported */

static bool is_still_idle(void)
{
	return (atomic_load(&gate_word) & GATE_IDLE) != 0;
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
	return contexts_record(context, one.event);
}

/* In the driver section. */
static enum idle_verdict record_every_context(void)
{
	CUcontext list[CONTEXTS_MOST];
	int count = contexts_list(list);

	destroy_events();
	events_generation = contexts_generation();
	if (count <= 0)
		return IDLE_UNKNOWN;
	for (int i = 0; i < count; i++) {
		CUresult result = record_all_work(list[i]);

		if (result == CUDA_SUCCESS)
			continue;
		/* The driver reports an event that was never recorded as complete. */
		destroy_events();
		if (result != CUDA_ERROR_NOT_SUPPORTED)
			return IDLE_BUSY;
		cannot_ask = true;
		return IDLE_UNKNOWN;
	}
	return IDLE_YES;
}

static bool are_complete(void)
{
	for (int i = 0; i < events_used; i++)
		if (REAL(cuCtxSetCurrent)(events[i].context) != CUDA_SUCCESS ||
		    REAL(cuEventQuery)(events[i].event) != CUDA_SUCCESS)
			return false;
	return true;
}

/* Polls all events.  The first call of an idle query records them. */
static enum idle_verdict poll_once(bool first)
{
	enum idle_verdict verdict = IDLE_BUSY;

	if (!section_begin(SECTION_ASKS))
		return IDLE_INTERRUPTED;
	if (first)
		verdict = record_every_context();
	else
		verdict = events_generation == contexts_generation() ? IDLE_YES : IDLE_INTERRUPTED;
	if (verdict == IDLE_YES && !are_complete())
		verdict = IDLE_BUSY;
	REAL(cuCtxSetCurrent)(NULL);
	section_end();
	return verdict;
}

static void end_events(void)
{
	if (events_used == 0 || !section_begin(SECTION_ASKS))
		return;
	destroy_events();
	REAL(cuCtxSetCurrent)(NULL);
	section_end();
}

/* True if the query may go on.  Another thread may fork meanwhile. */
static bool may_go_on(uint64_t begun_ns)
{
	return hp_now_ns() - begun_ns < (fork_waits() ? FORK_PATIENCE : PATIENCE);
}

/*
 * The verdict without an answer of the driver.  A call of the program that has waited shows that
 * its own context is idle.  That says nothing about other contexts.
 */
static enum idle_verdict unanswered(void)
{
	CUcontext list[CONTEXTS_MOST];
	int contexts = contexts_list(list);

	if (contexts == 0 || contexts == 1 || !hp_keeps(unpinned_with_one_context))
		return IDLE_UNKNOWN;
	gate_clear(GATE_IDLE);
	return IDLE_UNASKED;
}

enum idle_verdict idle_query(void)
{
	uint64_t pause_ns = PAUSE_FIRST, begun_ns = hp_now_ns();
	CUcontext list[CONTEXTS_MOST];

	if (cannot_ask || !REAL_HAS(cuCtxRecordEvent) || contexts_list(list) <= 0)
		return unanswered();
	/*
	 * During the pause, calls that passed the gate earlier reach the driver.  If another thread
	 * has shown an idle device, such a call may still be on its way.
	 */
	gate_set(GATE_IDLE);
	if (hp_keeps(unpinned_after_pause))
		hp_sleep_ns(pause_ns);

	enum idle_verdict verdict = is_still_idle() ? poll_once(true) : IDLE_INTERRUPTED;
	while (verdict == IDLE_BUSY && events_used > 0 && is_still_idle() && may_go_on(begun_ns)) {
		hp_sleep_ns(pause_ns);
		pause_ns = pause_ns * 2 < PAUSE_MOST ? pause_ns * 2 : PAUSE_MOST;
		verdict = poll_once(false);
	}
	end_events();
	if (verdict != IDLE_UNKNOWN && !is_still_idle())
		return IDLE_INTERRUPTED;
	if (verdict != IDLE_YES)
		gate_clear(GATE_IDLE);
	return verdict == IDLE_UNKNOWN ? unanswered() : verdict;
}
