/*
 * streams.c - steps with streams, events and contexts.
 */
#include "walk.h"

#include <stddef.h>
#include <unistd.h>

void step_stream(void)
{
	size_t slot = below(STREAMS);
	int context = my_context();

	if (p.frozen)
		return;
	if (p.stream[slot] >= 0 && p.line[p.stream[slot]].context != context)
		return;
	if (p.stream[slot] >= 0) {
		/* Pending work of the stream continues. */
		SAY(cu[0].cuStreamDestroy_v2(p.line[p.stream[slot]].handle), "cuStreamDestroy(l%d)",
		    p.stream[slot]);
		p.line[p.stream[slot]].alive = false;
		p.stream[slot] = -1;
		return;
	}
	bool blocking = one_in(2);
	unsigned flags = blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING;
	CUstream handle = NULL;
	if (p.lines == LINES)
		return;
	CUresult rc = one_in(4) ? cu[0].cuStreamCreateWithPriority(&handle, flags, -1)
				: cu[0].cuStreamCreate(&handle, flags);
	tell((uint64_t)rc);
	note("l%d = cuStreamCreate(%s) = %d", p.lines, blocking ? "blocking" : "free", (int)rc);
	if (rc == CUDA_SUCCESS)
		p.stream[slot] = line_new(context, false, blocking, -1, handle);
}

static void context_over(void)
{
	for (int i = 0; i < p.lines; i++)
		if (p.line[i].context == my_context())
			line_over(i);
}

void step_stream_wait(void)
{
	struct target to = some_target();

	if (p.frozen)
		return;
	if (one_in(4)) {
		SAY(cu[0].cuCtxSynchronize(), "cuCtxSynchronize()");
		context_over();
		return;
	}
	SAY(cu[to.flavor].cuStreamSynchronize(to.handle), "cuStreamSynchronize(%s l%d)", to.name,
	    to.line);
	line_over(to.line);
}

/* A device reports completion a little late. */
#define LATE_TURNS 20
#define LATE_US    50

static bool comes_late(CUresult rc, bool over, int turn)
{
	if (rc != CUDA_ERROR_NOT_READY || !over || standin_steps != NULL || turn == LATE_TURNS)
		return false;
	usleep(LATE_US);
	return true;
}

/* A result that depends on the progress of the device is one of two. */
static void told_query(CUresult rc, int error, bool over, const char *what, int number)
{
	if (!over && rc == CUDA_ERROR_NOT_READY)
		rc = CUDA_SUCCESS;
	told(rc, error, "%s%d)%s", what, number, over ? "" : ", over or not");
}

void step_query(void)
{
	struct target to = some_target();
	struct clock before;

	if (p.frozen)
		return;
	before = line_before(to.line);
	bool over = clock_covers(&p.over, &before);
	CUresult rc;
	int turn = 0;

	do {
		errno = 77;
		rc = cu[to.flavor].cuStreamQuery(to.handle);
	} while (comes_late(rc, over, turn++));
	told_query(rc, errno, over, "cuStreamQuery(l", to.line);
}

static void event_new(struct event *event, int number)
{
	static const unsigned flags[] = { CU_EVENT_DEFAULT, CU_EVENT_BLOCKING_SYNC,
					  CU_EVENT_DISABLE_TIMING };
	unsigned which = below(3);

	if (p.frozen)
		return;
	*event = (struct event){ .context = my_context(), .timing = which != 2 };
	if (SAY(cu[0].cuEventCreate(&event->handle, flags[which]), "e%d = cuEventCreate(%u)",
		number, flags[which]) != CUDA_SUCCESS)
		event->handle = NULL;
}

static void elapsed(struct event *event, int number)
{
	size_t other = below(EVENTS);
	struct event *end = &p.event[other];
	float ms = 0;

	if (end->handle == NULL || end->context != event->context)
		return;
	bool over = clock_covers(&p.over, &event->clock) && clock_covers(&p.over, &end->clock);
	errno = 77;
	CUresult rc = cu[0].cuEventElapsedTime(&ms, event->handle, end->handle);
	told_query(rc, errno, over, "cuEventElapsedTime(e", number);
}

void step_event(void)
{
	int number = (int)below(EVENTS) & (int)below(EVENTS);
	struct event *event = &p.event[number];
	struct target to = some_target();

	if (event->handle == NULL) {
		event_new(event, number);
		return;
	}
	if (event->context != my_context() || p.frozen)
		return;
	switch (below(10)) {
	case 0:
		SAY(cu[0].cuEventDestroy_v2(event->handle), "cuEventDestroy(e%d)", number);
		event->handle = NULL;
		break;
	case 1:
	case 2:
	case 3:
		SAY(cu[to.flavor].cuEventRecord(event->handle, to.handle),
		    "cuEventRecord(e%d, %s l%d)", number, to.name, to.line);
		line_push(to.line);
		event->recorded = true;
		event->clock = p.line[to.line].clock;
		break;
	case 4:
	case 5:
		SAY(cu[to.flavor].cuStreamWaitEvent(to.handle, event->handle, 0),
		    "cuStreamWaitEvent(%s l%d, e%d)", to.name, to.line, number);
		line_push(to.line);
		clock_join(&p.line[to.line].clock, &event->clock);
		break;
	case 6:
	case 7: {
		bool over = clock_covers(&p.over, &event->clock);
		CUresult rc;
		int turn = 0;

		do {
			errno = 77;
			rc = cu[0].cuEventQuery(event->handle);
		} while (comes_late(rc, over, turn++));
		told_query(rc, errno, over, "cuEventQuery(e", number);
		break;
	}
	case 8:
		elapsed(event, number);
		break;
	default:
		SAY(cu[0].cuEventSynchronize(event->handle), "cuEventSynchronize(e%d)", number);
		clock_join(&p.over, &event->clock);
		break;
	}
}

static void context_new(void)
{
	if (p.lines + 1 + THREADS >= LINES)
		return;
	if (SAY(cu[0].cuCtxCreate_v2(&p.context[1], 0, 0), "c1 = cuCtxCreate()") != CUDA_SUCCESS)
		return;
	p.legacy[1] = line_new(1, true, false, -1, NULL);
	for (int t = 0; t < THREADS; t++)
		p.own[1][t] = line_new(1, false, true, t, NULL);
	kernels_load(1);
	if (one_in(2)) {
		p.threads[p.thread].context = 1;
		return;
	}
	SAY(cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL }), "cuCtxPopCurrent()");
}

void step_context(void)
{
	int next = !my_context();

	if (p.frozen)
		return;
	if (p.legacy[1] < 0) {
		/* On a device this takes a tenth of a second. */
		if (one_in(stand_in ? 2 : 40))
			context_new();
		return;
	}
	SAY(cu[0].cuCtxSetCurrent(p.context[next]), "cuCtxSetCurrent(c%d)", next);
	p.threads[p.thread].context = next;
}
