/*
 * conform_capture.c - calls that are allowed during a stream capture, by which thread, and their
 * effect on the capture.
 */
#include "conform.h"

#include <stdio.h>
#include <string.h>

static CUstream captured;
static CUevent event, early;
static CUdeviceptr spare;
static CUstream other;
static char *registered, *pageable;
static void *pinned;

static void CUDA_CB nothing(void *data)
{
	(void)data;
}

static void CUDA_CB call_back(CUstream stream, CUresult status, void *data)
{
	(void)stream, (void)status, (void)data;
}

/* Each call is made during a capture with a memset; its results are undone later. */
#define CALLS(X)                                                                                   \
	X(nothing_at_all, CUDA_SUCCESS)                                                            \
	X(cuMemAlloc, cu[0].cuMemAlloc_v2(&spare, 64))                                             \
	X(cuMemFree, cu[0].cuMemFree_v2(spare))                                                    \
	X(cuMemAllocHost, cu[0].cuMemAllocHost_v2(&pinned, 64))                                    \
	X(cuMemFreeHost, cu[0].cuMemFreeHost(pinned))                                              \
	X(cuMemAllocManaged, cu[0].cuMemAllocManaged(&spare, 64, CU_MEM_ATTACH_GLOBAL))            \
	X(cuMemHostRegister, cu[0].cuMemHostRegister_v2(pageable, PAGE, 0))                        \
	X(cuMemHostUnregister, cu[0].cuMemHostUnregister(registered))                              \
	X(cuMemGetInfo, cu[0].cuMemGetInfo_v2(&(size_t){ 0 }, &(size_t){ 0 }))                     \
	X(cuPointerGetAttribute,                                                                   \
	  cu[0].cuPointerGetAttribute(&(CUdeviceptr){ 0 }, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,    \
				      there))                                                      \
	X(cuStreamCreate, cu[0].cuStreamCreate(&other, CU_STREAM_NON_BLOCKING))                    \
	X(cuStreamDestroy, cu[0].cuStreamDestroy_v2(other))                                        \
	X(cuStreamQuery_idle, cu[0].cuStreamQuery(other))                                          \
	X(cuStreamQuery_captured, cu[0].cuStreamQuery(captured))                                   \
	X(cuStreamQuery_legacy, cu[0].cuStreamQuery(CU_STREAM_LEGACY))                             \
	X(cuStreamSynchronize_idle, cu[0].cuStreamSynchronize(other))                              \
	X(cuStreamSynchronize_captured, cu[0].cuStreamSynchronize(captured))                       \
	X(cuStreamSynchronize_legacy, cu[0].cuStreamSynchronize(CU_STREAM_LEGACY))                 \
	X(cuStreamIsCapturing, cu[0].cuStreamIsCapturing(captured, &(CUstreamCaptureStatus){ 0 })) \
	X(cuStreamIsCapturing_legacy,                                                              \
	  cu[0].cuStreamIsCapturing(CU_STREAM_LEGACY, &(CUstreamCaptureStatus){ 0 }))              \
	X(cuCtxSynchronize, cu[0].cuCtxSynchronize())                                              \
	X(cuCtxRecordEvent, cu[0].cuCtxRecordEvent(primary, event))                                \
	X(cuEventCreate, cu[0].cuEventCreate(&event, CU_EVENT_DISABLE_TIMING))                     \
	X(cuEventDestroy, cu[0].cuEventDestroy_v2(event))                                          \
	X(cuEventRecord_legacy, cu[0].cuEventRecord(event, CU_STREAM_LEGACY))                      \
	X(cuEventRecord_idle, cu[0].cuEventRecord(event, other))                                   \
	X(cuEventRecord_captured, cu[0].cuEventRecord(event, captured))                            \
	X(cuEventQuery, cu[0].cuEventQuery(early))                                                 \
	X(cuEventSynchronize, cu[0].cuEventSynchronize(early))                                     \
	X(cuEventQuery_captured,                                                                   \
	  cu[0].cuEventRecord(event, captured) ?: cu[0].cuEventQuery(event))                       \
	X(cuStreamWaitEvent_early, cu[0].cuStreamWaitEvent(captured, early, 0))                    \
	X(cuStreamWaitEvent_joins,                                                                 \
	  cu[0].cuEventRecord(event, captured) ?: cu[0].cuStreamWaitEvent(other, event, 0))        \
	X(cuMemcpyHtoD, cu[0].cuMemcpyHtoD_v2(there, pageable, 64))                                \
	X(cuMemcpyHtoD_ptds, cu[1].cuMemcpyHtoD_v2(there, pageable, 64))                           \
	X(cuMemcpyDtoH, cu[0].cuMemcpyDtoH_v2(pageable, there, 64))                                \
	X(cuMemcpyDtoD, cu[0].cuMemcpyDtoD_v2(there, there + MIB, 64))                             \
	X(cuMemsetD8, cu[0].cuMemsetD8_v2(there, 1, 64))                                           \
	X(cuMemcpyHtoDAsync_legacy,                                                                \
	  cu[0].cuMemcpyHtoDAsync_v2(there, pageable, 64, CU_STREAM_LEGACY))                       \
	X(cuMemcpyHtoDAsync_idle, cu[0].cuMemcpyHtoDAsync_v2(there, pageable, 64, other))          \
	X(cuMemcpyHtoDAsync_captured, cu[0].cuMemcpyHtoDAsync_v2(there, pageable, 64, captured))   \
	X(cuMemcpyDtoHAsync_captured, cu[0].cuMemcpyDtoHAsync_v2(pageable, there, 64, captured))   \
	X(cuMemcpyHtoDAsync_registered_captured,                                                   \
	  cu[0].cuMemcpyHtoDAsync_v2(there, registered, 64, captured))                             \
	X(cuMemAllocAsync_captured, cu[0].cuMemAllocAsync(&spare, 64, captured))                   \
	X(cuMemAllocAsync_idle, cu[0].cuMemAllocAsync(&spare, 64, other))                          \
	X(cuLaunchHostFunc_captured, cu[0].cuLaunchHostFunc(captured, nothing, NULL))              \
	X(cuStreamAddCallback_captured, cu[0].cuStreamAddCallback(captured, call_back, NULL, 0))   \
	X(cuStreamBeginCapture_captured,                                                           \
	  cu[0].cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED))                 \
	X(cuStreamDestroy_captured, cu[0].cuStreamDestroy_v2(captured))

enum { WHO_SAME, WHO_OTHER, WHO_RELAXED };
static const char *const whose[] = { "by_itself", "by_another", "by_a_relaxed_one" };

enum {
#define X(name, call) AT_##name,
	CALLS(X)
#undef X
};

struct trial {
	int call, who;
	CUresult said;
};

static void make_call(void *given)
{
	struct trial *trial = given;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (trial->who == WHO_RELAXED)
		MUST(cu[0].cuThreadExchangeStreamCaptureMode(&mode));
	switch (trial->call) {
#define X(name, call)               \
	case AT_##name:             \
		trial->said = call; \
		break;
		CALLS(X)
#undef X
	default:
		break;
	}
}

static const char *const names[] = {
#define X(name, call) #name,
	CALLS(X)
#undef X
};
#define CALL_COUNT ((int)(sizeof(names) / sizeof(*names)))

/* Restores the state in which every call is made, and cleans up after the previous one. */
static void prepare(unsigned flags)
{
	if (captured != NULL)
		cu[0].cuStreamDestroy_v2(captured);
	MUST(cu[0].cuStreamCreate(&captured, flags));
	MUST(cu[0].cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	MUST(cu[0].cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	MUST(cu[0].cuEventCreate(&early, CU_EVENT_DISABLE_TIMING));
	MUST(cu[0].cuEventRecord(early, other));
	MUST(cu[0].cuEventSynchronize(early));
	MUST(cu[0].cuMemAlloc_v2(&spare, 64));
	MUST(cu[0].cuMemAllocHost_v2(&pinned, 64));
	pageable = pages(PAGE, 1);
	registered = pages(PAGE, 1);
	MUST(cu[0].cuMemHostRegister_v2(registered, PAGE, 0));
}

/* Reports the call's result in each mode, and the result of the end of the capture. */
static void tell(int call, int who, bool is_blocking)
{
	static const char *const modes[] = { "global", "thread", "relaxed" };
	char line[128] = "";

	for (int mode = 0; mode < 3; mode++) {
		struct trial trial = { call, who, CUDA_SUCCESS };
		CUgraph graph = NULL;
		CUresult end;

		prepare(is_blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
		MUST(cu[0].cuStreamBeginCapture_v2(captured, (CUstreamCaptureMode)mode));
		MUST(cu[0].cuMemsetD8Async(there, 1, 64, captured));
		if (who == WHO_SAME)
			make_call(&trial);
		else
			elsewhere(make_call, &trial);
		if (call == AT_cuStreamDestroy_captured) {
			captured = NULL;
			end = CUDA_SUCCESS;
		} else {
			end = cu[0].cuStreamEndCapture(captured, &graph);
		}
		if (graph != NULL)
			MUST(cu[0].cuGraphDestroy(graph));
		snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s%s %d end %d",
			 mode != 0 ? ", " : "", modes[mode], (int)trial.said, (int)end);
	}
	FACT(line, "%s.%s", names[call], whose[who]);
}

SECTION(capture_of_blocking)
{
	begin();
	for (int call = 0; call < CALL_COUNT; call++)
		for (int who = 0; who < 3; who++)
			tell(call, who, true);
}

SECTION(capture_of_unbound)
{
	begin();
	for (int call = 0; call < CALL_COUNT; call++)
		for (int who = 0; who < 3; who++)
			tell(call, who, false);
}

static CUgraphExec recorded(char *from, size_t bytes)
{
	CUgraph graph = NULL;
	CUgraphExec exec = NULL;

	MUST(cu[0].cuStreamBeginCapture_v2(unbound, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	MUST(cu[0].cuMemcpyHtoDAsync_v2(there, from, bytes, unbound));
	MUST(cu[0].cuStreamEndCapture(unbound, &graph));
	MUST(cu[0].cuGraphInstantiateWithFlags(&exec, graph, 0));
	MUST(cu[0].cuGraphDestroy(graph));
	return exec;
}

static const char *replayed(CUgraphExec exec, char *from, size_t bytes)
{
	memset(from, 3, bytes);
	MUST(cu[0].cuMemsetD8_v2(there, 9, bytes));
	settle();
	busy(unbound);
	CUresult rc = cu[0].cuGraphLaunch(exec, unbound);
	bool waits = !still_busy();
	memset(from, 4, bytes);
	CUresult end = cu[0].cuStreamSynchronize(unbound);
	if (rc != CUDA_SUCCESS || end != CUDA_SUCCESS)
		return code(rc != CUDA_SUCCESS ? rc : end);
	int got = peek(there + bytes - 1);
	return waits      ? "waits"
	       : got == 3 ? "as at the launch"
	       : got == 4 ? "as when it runs"
			  : "else";
}

/* The kinds of memory that a node reads. */
SECTION(graph_sources)
{
	char *p = pages(PAGE, 1), *q = pages(PAGE, 1), *large = pages(MIB, 1);

	begin();
	CUgraphExec exec = recorded(p, 64);
	fact("pageable", "%s", replayed(exec, p, 64));
	MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	fact("pageable_registered_later", "%s", replayed(exec, p, 64));
	MUST(cu[0].cuMemHostUnregister(p));
	fact("pageable.1M", "%s", replayed(recorded(large, MIB), large, MIB));
	MUST(cu[0].cuMemHostRegister_v2(q, PAGE, 0));
	fact("registered", "%s", replayed(recorded(q, 64), q, 64));
}

/* The memory of a node is unregistered, which ends the context. */
static void without_its_registration(bool again)
{
	char *p = pages(PAGE, 1);

	begin();
	MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	CUgraphExec exec = recorded(p, 64);
	MUST(cu[0].cuMemHostUnregister(p));
	if (again)
		MUST(cu[0].cuMemHostRegister_v2(p, PAGE, 0));
	fact("replayed", "%s", replayed(exec, p, 64));
	fact("the_next_call", "%d", (int)cu[0].cuCtxSynchronize());
}

SECTION(graph_source_registered_no_more)
{
	without_its_registration(false);
}

SECTION(graph_source_registered_again)
{
	without_its_registration(true);
}
