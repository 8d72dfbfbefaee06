/*
 * life.c - cuInit(), look-ups of functions, ends of contexts, streams, and the profiler.
 */
#include "base/clock.h"
#include "base/protections.h"
#include "base/thread.h"
#include "engine/capture.h"
#include "engine/context.h"
#include "engine/defer.h"
#include "engine/state.h"
#include "pin/use.h"
#include "real/contexts.h"
#include "shim/driver/chain.h"
#include "shim/driver/run.h"
#include "shim/load/device.h"
#include "trace/trace.h"

HP_EXPORT CUresult cuInit(unsigned flags)
{
	uint64_t enter_ns = hp_now_ns();
	SHIM_ENTER(REAL_ROW_cuInit);
	defer_called();

	CUresult result = REAL(cuInit)(flags);
	uint64_t leave_ns = hp_now_ns();
	if (result != CUDA_SUCCESS || trace_active())
		return result;
	/* The profile exists only now.  The time to start it counts as start-up, too. */
	shim_device_found();
	trace_called(REAL_ROW_cuInit, enter_ns, leave_ns, __builtin_frame_address(0));
	trace_starting(leave_ns, hp_now_ns());
	return result;
}

/* The two versions treat `ret` differently on failure, so each calls its own. */
#define LOOK_UP(function, parameters, arguments)                                           \
	HP_EXPORT CUresult function parameters                                             \
	{                                                                                  \
		SHIM_ENTER(REAL_ROW_##function);                                           \
		__typeof__(function) *own =                                                \
			(__typeof__(function) *)real_driver_own(REAL_ROW_##function);      \
		void *meant = NULL;                                                        \
		if (own != NULL && chain_contains(__builtin_return_address(0)))            \
			return own arguments;                                              \
		/* Another library's answer does not tell the ABI. */                      \
		if (own != NULL && own != REAL(function) && state_active &&                \
		    own arguments == CUDA_SUCCESS && ret != NULL)                          \
			meant = *ret;                                                      \
		CUresult result = REAL(function) arguments;                                \
		if (result == CUDA_SUCCESS && ret != NULL && *ret != NULL && state_active) \
			*ret = chain_route(name, meant != NULL ? meant : *ret, *ret);      \
		return result;                                                             \
	}
LOOK_UP(cuGetProcAddress, (const char *name, void **ret, int version, cuuint64_t flags),
	(name, ret, version, flags))
LOOK_UP(cuGetProcAddress_v2,
	(const char *name, void **ret, int version, cuuint64_t flags,
	 CUdriverProcAddressQueryResult *status),
	(name, ret, version, flags, status))
#undef LOOK_UP

/*
 * Registrations and CUPTI records end with their context.  No copy is deferred in a context that
 * another thread makes at the same address.
 */
static void before_context_ends(CUcontext context)
{
	hp_uncancellable_begin();
	defer_called();
	trace_flush();
	context_ending(context);
}

static void after_context_ended(CUcontext context, bool gone)
{
	context_ended(context, gone);
	hp_uncancellable_end();
}

/* `detaches`: the call drops one reference; the context may have others. */
static CUresult end_context(CUresult (*call)(CUcontext), CUcontext context, bool detaches)
{
	if (!state_active)
		return call(context);
	unsigned long long id = detaches ? contexts_id(context) : 0;
	before_context_ends(context);
	CUresult result = call(context);
	bool gone = detaches && hp_keeps(detached) ? contexts_id(context) != id
						   : result == CUDA_SUCCESS;
	after_context_ended(context, gone);
	return result;
}

#define END(name, detaches)                                        \
	HP_EXPORT CUresult name(CUcontext context)                 \
	{                                                          \
		SHIM_ENTER(REAL_ROW_##name);                       \
		pin_give_back(__builtin_frame_address(0));         \
		return end_context(REAL(name), context, detaches); \
	}
END(cuCtxDestroy, false)
END(cuCtxDestroy_v2, false)
END(cuCtxDetach, true)
#undef END

/* Returns the id of the device's primary context, which is at `context`; 0: it is not active. */
static unsigned long long id_of_primary(CUdevice device, CUcontext context)
{
	unsigned flags;
	int is_active = 0;

	if (context == NULL ||
	    REAL(cuDevicePrimaryCtxGetState)(device, &flags, &is_active) != CUDA_SUCCESS ||
	    !is_active)
		return 0;
	return contexts_id(context);
}

/*
 * A release that leaves references ends nothing, so it closes nothing.  Only the driver knows for
 * sure: the id is read afterwards, because another thread may have retained the context again by
 * then.  A reset ends the context, however many references there are.
 */
static CUresult end_primary(CUresult (*call)(CUdevice), CUdevice device, bool resets)
{
	CUcontext context = state_active ? contexts_primary(device) : NULL;
	unsigned long long id = id_of_primary(device, context);

	if (id == 0)
		return call(device);
	bool last = resets || !contexts_released(device);
	if (last)
		before_context_ends(context);
	CUresult result = call(device);
	bool gone = resets ? result == CUDA_SUCCESS : id_of_primary(device, context) != id;
	while (gone && contexts_released(device))
		continue;
	if (!last && gone)
		before_context_ends(context);
	if (last || gone)
		after_context_ended(context, gone);
	else if (result != CUDA_SUCCESS)
		contexts_retained(device, context);
	return result;
}

#define END_PRIMARY(name, resets)                               \
	HP_EXPORT CUresult name(CUdevice device)                \
	{                                                       \
		SHIM_ENTER(REAL_ROW_##name);                    \
		pin_give_back(__builtin_frame_address(0));      \
		return end_primary(REAL(name), device, resets); \
	}
END_PRIMARY(cuDevicePrimaryCtxReset, true)
END_PRIMARY(cuDevicePrimaryCtxReset_v2, true)
END_PRIMARY(cuDevicePrimaryCtxRelease, false)
END_PRIMARY(cuDevicePrimaryCtxRelease_v2, false)
#undef END_PRIMARY

/*
 * Registrations that were made in a green context may end with it, or live on in the primary one.
 * So they are ended before.
 */
SHIM_UNPINS(cuGreenCtxDestroy, GATE_NO_STREAM, unpin_everything(), (CUgreenCtx context), (context))

/* A toolkit may lack cudaProfiler.h, which is a package of its own. */
HP_EXPORT CUresult cuProfilerStart(void);
HP_EXPORT CUresult cuProfilerStop(void);

HP_EXPORT CUresult cuProfilerStart(void)
{
	SHIM_ENTER(REAL_ROW_cuProfilerStart);
	CUresult result = REAL(cuProfilerStart)();

	if (state_active)
		trace_profiler(true);
	return result;
}

HP_EXPORT CUresult cuProfilerStop(void)
{
	SHIM_ENTER(REAL_ROW_cuProfilerStop);

	if (state_active)
		trace_profiler(false);
	return REAL(cuProfilerStop)();
}

/* A capture ends with the stream that it began on. */
#define DESTROY(name)                                      \
	HP_EXPORT CUresult name(CUstream stream)           \
	{                                                  \
		SHIM_ENTER(REAL_ROW_##name);               \
		bool captured = capture_ends_with(stream); \
		if (captured)                              \
			hp_uncancellable_begin();          \
		CUresult result = REAL(name)(stream);      \
		if (captured && result == CUDA_SUCCESS)    \
			capture_ended(stream);             \
		if (captured)                              \
			hp_uncancellable_end();            \
		return result;                             \
	}
DESTROY(cuStreamDestroy)
DESTROY(cuStreamDestroy_v2)
#undef DESTROY
