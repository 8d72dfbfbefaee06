/*
 * idle.c - records an event behind all work of each context, and queries these events later.
 *
 * The question needs cuCtxRecordEvent() of CUDA 12.5.  With older drivers, an event on the legacy
 * stream is no substitute: it does not cover non-blocking streams, and later work on any blocking
 * stream would wait for all work that runs now.
 *
 * cuCtxRecordEvent() invalidates captures (cuda.h).  A capture that begins waits for the end of
 * such a call, and prevents later ones (engine/section.h).
 */
#include "engine/idle.h"
#include "base/protections.h"
#include "engine/section.h"
#include "real/contexts.h"

/* Written in the driver section, by the housekeeper.  Valid while events_generation is current. */
static struct context_event {
	CUcontext context;
	CUevent event;
} events[CONTEXTS_MOST];
static int events_used;
static uint32_t events_generation; /* contexts_generation() when the events were created */

/* Used by the housekeeper only. */
static bool cannot_ask; /* cuCtxRecordEvent() is not supported */

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

bool idle_ask(void)
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

bool idle_is(void)
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
