/*
 * conform_order.c - the order of work, and what queries of a stream or an event return.
 */
#include "conform.h"

#include <stdio.h>

/* The kinds of streams, and their handles in calls. */
static const char *const names[] = { "legacy", "own", "blocking", "unbound" };
#define STREAMS 4

static CUstream stream_of(int which)
{
	const CUstream streams[STREAMS] = { CU_STREAM_LEGACY, CU_STREAM_PER_THREAD, blocking,
					    unbound };

	return streams[which];
}

/* Tells whether work on the second stream comes after work on the first. */
SECTION(order)
{
	CUevent end;

	begin();
	MUST(cu[0].cuEventCreate(&end, CU_EVENT_DISABLE_TIMING));
	for (int first = 0; first < STREAMS; first++)
		for (int then = 0; then < STREAMS; then++) {
			busy(stream_of(first));
			MUST(cu[0].cuMemsetD8Async(there, 1, 64, stream_of(then)));
			MUST(cu[0].cuEventRecord(end, stream_of(then)));
			MUST(cu[0].cuEventSynchronize(end));
			FACT(still_busy() ? "concurrent" : "after", "%s.then.%s", names[first],
			     names[then]);
			settle();
		}
}

static void record_own(void *event)
{
	MUST(cu[0].cuEventRecord(event, CU_STREAM_PER_THREAD));
}

static void record_legacy(void *event)
{
	MUST(cu[0].cuEventRecord(event, CU_STREAM_LEGACY));
}

/* The same between threads, streams and contexts. */
SECTION(order_far)
{
	CUcontext other;
	CUstream second, idle;
	CUevent end, there_end;

	begin();
	MUST(cu[0].cuEventCreate(&end, CU_EVENT_DISABLE_TIMING));
	MUST(cu[0].cuStreamCreate(&second, CU_STREAM_DEFAULT));
	MUST(cu[0].cuStreamCreate(&idle, CU_STREAM_NON_BLOCKING));
#define AFTER(name)                                                      \
	do {                                                             \
		MUST(cu[0].cuEventSynchronize(end));                     \
		fact(name, "%s", still_busy() ? "concurrent" : "after"); \
		settle();                                                \
	} while (0)
	busy(CU_STREAM_PER_THREAD);
	elsewhere(record_own, end);
	AFTER("own.then.own_of_another_thread");
	busy(CU_STREAM_LEGACY);
	elsewhere(record_own, end);
	AFTER("legacy.then.own_of_another_thread");
	busy(CU_STREAM_PER_THREAD);
	elsewhere(record_legacy, end);
	AFTER("own.then.legacy_of_another_thread");
	busy(blocking);
	MUST(cu[0].cuEventRecord(end, second));
	AFTER("blocking.then.another_blocking");
	/* Ordered by the legacy stream, which has no work itself. */
	busy(blocking);
	MUST(cu[0].cuMemsetD8Async(there, 1, 64, CU_STREAM_LEGACY));
	MUST(cu[0].cuEventRecord(end, second));
	AFTER("blocking.then.legacy.then.another_blocking");
	busy(blocking);
	MUST(cu[0].cuEventRecord(end, CU_STREAM_LEGACY));
	MUST(cu[0].cuEventSynchronize(end));
	fact("blocking.then.event_on_legacy", "%s", still_busy() ? "concurrent" : "after");
	settle();
	busy(unbound);
	MUST(cu[0].cuEventRecord(end, CU_STREAM_LEGACY));
	AFTER("unbound.then.event_on_legacy");
	busy(unbound);
	MUST(cu[0].cuCtxRecordEvent(primary, end));
	AFTER("unbound.then.event_of_context");
	busy(blocking);
	MUST(cu[0].cuCtxRecordEvent(primary, end));
	AFTER("blocking.then.event_of_context");
	/* An event that is waited for, and recorded again in between. */
	busy(unbound);
	MUST(cu[0].cuEventRecord(end, unbound));
	MUST(cu[0].cuStreamWaitEvent(second, end, 0));
	MUST(cu[0].cuEventRecord(end, idle));
	MUST(cu[0].cuEventRecord(end, second));
	AFTER("stream_that_waits_for_a_recording_replaced");
	MUST(cu[0].cuCtxCreate_v2(&other, 0, 0));
	MUST(cu[0].cuEventCreate(&there_end, CU_EVENT_DISABLE_TIMING));
	MUST(cu[0].cuCtxSetCurrent(primary));
	busy(CU_STREAM_LEGACY);
	MUST(cu[0].cuCtxSetCurrent(other));
	MUST(cu[0].cuEventRecord(there_end, CU_STREAM_LEGACY));
	MUST(cu[0].cuEventSynchronize(there_end));
	MUST(cu[0].cuCtxSetCurrent(primary));
	fact("legacy.then.legacy_of_another_context", "%s", still_busy() ? "concurrent" : "after");
	fact("event_on_stream_of_another_context", "%d",
	     (int)cu[0].cuEventRecord(there_end, unbound));
	settle();
	MUST(cu[0].cuEventRecord(end, unbound));
	MUST(cu[0].cuCtxSetCurrent(other));
	fact("wait_for_event_of_another_context", "%d",
	     (int)cu[0].cuStreamWaitEvent(CU_STREAM_LEGACY, end, 0));
	fact("query_event_of_another_context", "%d", (int)(cu[0].cuEventSynchronize(end)));
	MUST(cu[0].cuCtxSetCurrent(primary));
#undef AFTER
}

static void CUDA_CB nothing(void *data)
{
	(void)data;
}

/* The work that the host waits for. */
SECTION(waits)
{
	CUevent event;
	CUdeviceptr more;
	CUstream gone;
	char *p = pages(PAGE, 1);
	void *pinned;

	begin();
	MUST(cu[0].cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	/* Makes each call after a kernel on each stream. */
#define BEHIND(name, call)                                             \
	for (int on = 0; on < STREAMS; on++) {                         \
		busy(stream_of(on));                                   \
		FACT(returned(call), "%s.behind.%s", name, names[on]); \
		settle();                                              \
	}
	BEHIND("context", cu[0].cuCtxSynchronize());
	BEHIND("legacy", cu[0].cuStreamSynchronize(CU_STREAM_LEGACY));
	BEHIND("own", cu[0].cuStreamSynchronize(CU_STREAM_PER_THREAD));
	BEHIND("blocking", cu[0].cuStreamSynchronize(blocking));
	BEHIND("unbound", cu[0].cuStreamSynchronize(unbound));
	BEHIND("null", cu[0].cuStreamSynchronize(NULL));
	BEHIND("null_ptsz", cu[1].cuStreamSynchronize(NULL));
	BEHIND("event_never_recorded", cu[0].cuEventSynchronize(event));
	BEHIND("query_legacy", cu[0].cuStreamQuery(CU_STREAM_LEGACY));
	BEHIND("query_own", cu[0].cuStreamQuery(CU_STREAM_PER_THREAD));
	BEHIND("query_blocking", cu[0].cuStreamQuery(blocking));
	BEHIND("query_unbound", cu[0].cuStreamQuery(unbound));
#undef BEHIND
	/* After a kernel on a stream that no other waits for. */
#define BEHIND(name, call)                        \
	do {                                      \
		busy(unbound);                    \
		fact(name, "%s", returned(call)); \
		settle();                         \
	} while (0)
	BEHIND("alloc", cu[0].cuMemAlloc_v2(&more, 64 * KIB));
	BEHIND("free", cu[0].cuMemFree_v2(more));
	BEHIND("alloc_host", cu[0].cuMemAllocHost_v2(&pinned, 64 * KIB));
	BEHIND("free_host", cu[0].cuMemFreeHost(pinned));
	BEHIND("unregister", cu[0].cuMemHostUnregister(p));
	BEHIND("register", cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	MUST(cu[0].cuMemHostUnregister(p));
	BEHIND("unregister_what_is_not", cu[0].cuMemHostUnregister(p));
	BEHIND("alloc_async", cu[0].cuMemAllocAsync(&more, 64 * KIB, unbound));
	BEHIND("free_async", cu[0].cuMemFreeAsync(more, unbound));
	BEHIND("stream_create", cu[0].cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
	BEHIND("stream_destroy", cu[0].cuStreamDestroy_v2(gone));
	BEHIND("event_create", cu[0].cuEventCreate(&event, 0));
	BEHIND("event_destroy", cu[0].cuEventDestroy_v2(event));
	BEHIND("launch_host_func", cu[0].cuLaunchHostFunc(unbound, nothing, NULL));
	BEHIND("attribute", cu[0].cuPointerGetAttribute(&(unsigned){ 0 },
							CU_POINTER_ATTRIBUTE_MEMORY_TYPE, there));
	BEHIND("mem_get_info", cu[0].cuMemGetInfo_v2(&(size_t){ 0 }, &(size_t){ 0 }));
	BEHIND("write_value", cu[0].cuStreamWriteValue32_v2(unbound, there, 1, 0));
#undef BEHIND
	MUST(cu[0].cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING));
	busy(gone);
	fact("destroy_of_the_busy_stream", "%s", returned(cu[0].cuStreamDestroy_v2(gone)));
	settle();
	fact("work_goes_on_after_its_stream", "%s", still_busy() ? "no" : "yes");
}

/* Return codes with nothing in flight. */
SECTION(say)
{
	CUevent event, timed, other;
	float ms = -1;
	unsigned flags;
	unsigned long long ids[4];

	begin();
	MUST(cu[0].cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cu[0].cuEventCreate(&timed, 0));
	MUST(cu[0].cuEventCreate(&other, 0));
	for (int i = 0; i < STREAMS; i++)
		FACT(code(cu[0].cuStreamQuery(stream_of(i))), "query.%s", names[i]);
	fact("query.null", "%d", (int)cu[0].cuStreamQuery(NULL));
	fact("event.never_recorded", "%d", (int)cu[0].cuEventQuery(event));
	fact("elapsed.never_recorded", "%d", (int)cu[0].cuEventElapsedTime(&ms, timed, other));
	MUST(cu[0].cuEventRecord(timed, unbound));
	fact("elapsed.one_recorded", "%d", (int)cu[0].cuEventElapsedTime(&ms, timed, other));
	busy(unbound);
	MUST(cu[0].cuEventRecord(other, unbound));
	fact("event.behind_a_kernel", "%d", (int)cu[0].cuEventQuery(other));
	fact("elapsed.not_ready", "%d", (int)cu[0].cuEventElapsedTime(&ms, timed, other));
	MUST(cu[0].cuEventSynchronize(other));
	fact("event.after_a_kernel", "%d", (int)cu[0].cuEventQuery(other));
	fact("elapsed.ready", "%d", (int)cu[0].cuEventElapsedTime(&ms, timed, other));
	fact("elapsed.is", "%s", ms >= 25 ? "that of the kernel" : "less");
	MUST(cu[0].cuEventRecord(event, unbound));
	MUST(cu[0].cuEventSynchronize(event));
	fact("elapsed.without_timing", "%d", (int)cu[0].cuEventElapsedTime(&ms, timed, event));
	for (int i = 0; i < STREAMS; i++) {
		flags = 77;
		MUST(cu[0].cuStreamGetFlags(stream_of(i), &flags));
		FACT(code((CUresult)flags), "flags.%s", names[i]);
	}
	MUST(cu[0].cuStreamGetId(NULL, &ids[0]));
	MUST(cu[0].cuStreamGetId(CU_STREAM_LEGACY, &ids[1]));
	MUST(cu[1].cuStreamGetId(NULL, &ids[2]));
	MUST(cu[0].cuStreamGetId(CU_STREAM_PER_THREAD, &ids[3]));
	fact("id.null_is_legacy", "%s", ids[0] == ids[1] ? "yes" : "no");
	fact("id.null_ptsz_is_own", "%s", ids[2] == ids[3] ? "yes" : "no");
	fact("id.legacy_is_own", "%s", ids[1] == ids[3] ? "yes" : "no");
}
