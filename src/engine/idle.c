/*
 * idle.c - an event that covers all work of all contexts, and whether it has come.
 *
 * cuCtxRecordEvent() of CUDA 12.5 is what makes that possible.  An event on the legacy stream
 * would not do where a driver lacks it: it leaves non-blocking streams out, and whatever came
 * later on any blocking stream would have to wait for whatever runs now on any other.
 *
 * It invalidates captures (cuda.h, cuCtxRecordEvent), so the driver is called in the driver section
 * only, which the begin of a capture blocks.
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

/* A fork() cannot wait as long as what is merely due. */
#define FORK_PATIENCE (8 * MS_NS)

/* In the driver section only; of contexts that live. */
static struct mark {
	CUcontext context;
	CUevent event;
} marks[CONTEXTS_MOST];
static int marks_used;
static uint32_t marks_ends; /* contexts_generation() when they were made */
static bool cannot_ask;

/* The housekeeper's: the program went on within the pause before the last look. */
static bool skips_pause;

static bool is_still_idle(void)
{
	return (atomic_load(&gate_word) & GATE_IDLE) != 0;
}

static void pause_for(uint64_t ns)
{
	hp_sleep_ns(ns);
}

/* In the driver section. */
static void drop_marks(void)
{
	/* With its context an event has gone; of which one it was is not worth knowing. */
	while (marks_used > 0) {
		struct mark *mark = &marks[--marks_used];

		if (marks_ends == contexts_generation() &&
		    REAL(cuCtxSetCurrent)(mark->context) == CUDA_SUCCESS)
			REAL(cuEventDestroy_v2)(mark->event);
	}
}

/* The one place that decides by what a context is asked.  In the driver section. */
static CUresult mark_all_work(CUcontext context)
{
	struct mark mark = { .context = context };
	CUresult result = REAL(cuCtxSetCurrent)(context);

	if (result == CUDA_SUCCESS)
		result = REAL(cuEventCreate)(&mark.event, CU_EVENT_DISABLE_TIMING);
	if (result != CUDA_SUCCESS)
		return result;
	marks[marks_used++] = mark;
	return contexts_record(context, mark.event);
}

/* In the driver section. */
static enum idle_verdict mark_everything(void)
{
	CUcontext list[CONTEXTS_MOST];
	int count = contexts_list(list);

	drop_marks();
	marks_ends = contexts_generation();
	if (count <= 0)
		return IDLE_UNKNOWN;
	for (int i = 0; i < count; i++) {
		CUresult result = mark_all_work(list[i]);

		if (result == CUDA_SUCCESS)
			continue;
		/* An event that was not recorded counts as one that has come. */
		drop_marks();
		if (result != CUDA_ERROR_NOT_SUPPORTED)
			return IDLE_BUSY;
		cannot_ask = true;
		return IDLE_UNKNOWN;
	}
	return IDLE_YES;
}

static bool have_come(void)
{
	for (int i = 0; i < marks_used; i++)
		if (REAL(cuCtxSetCurrent)(marks[i].context) != CUDA_SUCCESS ||
		    REAL(cuEventQuery)(marks[i].event) != CUDA_SUCCESS)
			return false;
	return true;
}

/* One visit: the first makes the marks, and all look at them. */
static enum idle_verdict visit(bool first)
{
	enum idle_verdict verdict = IDLE_BUSY;

	if (!section_begin())
		return IDLE_INTERRUPTED;
	if (first)
		verdict = mark_everything();
	else
		verdict = marks_ends == contexts_generation() ? IDLE_YES : IDLE_INTERRUPTED;
	if (verdict == IDLE_YES && !have_come())
		verdict = IDLE_BUSY;
	REAL(cuCtxSetCurrent)(NULL);
	section_end();
	return verdict;
}

static void clean_up(void)
{
	if (marks_used == 0 || !section_begin())
		return;
	drop_marks();
	REAL(cuCtxSetCurrent)(NULL);
	section_end();
}

/* Somebody may fork while we look. */
static bool may_go_on(uint64_t begun_ns)
{
	return hp_now_ns() - begun_ns < (fork_waits() ? FORK_PATIENCE : PATIENCE);
}

enum idle_verdict idle_look(void)
{
	uint64_t pause_ns = PAUSE_FIRST, begun_ns = hp_now_ns();
	CUcontext list[CONTEXTS_MOST];

	if (cannot_ask || !REAL_HAS(cuCtxRecordEvent) || contexts_list(list) <= 0)
		return IDLE_UNKNOWN;
	/*
	 * A call that passed the gate while it was open shall have reached the driver.  A program
	 * that never leaves so much time between two waits is looked at in any other at once: what
	 * it does not use has to go, too.
	 */
	bool at_once = is_still_idle() && (skips_pause || !hp_keeps(unpinned_after_pause));
	gate_set(GATE_IDLE);
	if (!at_once)
		pause_for(pause_ns);
	skips_pause = !is_still_idle();

	enum idle_verdict verdict = is_still_idle() ? visit(true) : IDLE_INTERRUPTED;
	while (verdict == IDLE_BUSY && marks_used > 0 && is_still_idle() && may_go_on(begun_ns)) {
		pause_for(pause_ns);
		pause_ns = pause_ns * 2 < PAUSE_MOST ? pause_ns * 2 : PAUSE_MOST;
		verdict = visit(false);
	}
	clean_up();
	if (verdict != IDLE_UNKNOWN && !is_still_idle())
		return IDLE_INTERRUPTED;
	if (verdict != IDLE_YES)
		gate_clear(GATE_IDLE);
	return verdict;
}
