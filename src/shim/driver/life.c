/*
 * life.c - the driver's beginning, look-ups, contexts and streams.
 */
#include "base/cancel.h"
#include "base/log.h"
#include "base/protections.h"
#include "engine/capture.h"
#include "engine/state.h"
#include "real/contexts.h"
#include "shim/driver/enter.h"
#include "shim/driver/route.h"
#include "shim/load/device.h"
#include "trace/trace.h"

HP_EXPORT CUresult cuInit(unsigned flags)
{
	shim_enter(REAL_ROW_cuInit);

	CUresult result = REAL(cuInit)(flags);
	if (result == CUDA_SUCCESS)
		shim_device_found();
	return result;
}

/* Its second and later forms differ from the first in what they do with `ret`: each has its own. */
HP_EXPORT CUresult cuGetProcAddress(const char *name, void **ret, int version, cuuint64_t flags)
{
	shim_enter(REAL_ROW_cuGetProcAddress);

	CUresult result = REAL(cuGetProcAddress)(name, ret, version, flags);
	if (result == CUDA_SUCCESS && ret != NULL && *ret != NULL && state_active())
		*ret = route_of(*ret);
	return result;
}

HP_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **ret, int version, cuuint64_t flags,
				       CUdriverProcAddressQueryResult *status)
{
	shim_enter(REAL_ROW_cuGetProcAddress_v2);

	CUresult result = REAL(cuGetProcAddress_v2)(name, ret, version, flags, status);
	if (result == CUDA_SUCCESS && ret != NULL && *ret != NULL && state_active())
		*ret = route_of(*ret);
	return result;
}

/* A context takes its registrations and its CUPTI records with it. */
static void before_context_goes(CUcontext context)
{
	hp_uncancellable_begin();
	trace_flush();
	contexts_ending(context);
}

static void after_context_went(CUcontext context, bool gone)
{
	contexts_ended(context, gone);
	hp_uncancellable_end();
}

/* cuCtxDetach() takes away one of several references. */
static bool is_gone(CUcontext context)
{
	unsigned version;

	return REAL(cuCtxGetApiVersion)(context, &version) != CUDA_SUCCESS || !hp_keeps(detached);
}

#define DESTROY(name, gone)                            \
	HP_EXPORT CUresult name(CUcontext context)     \
	{                                              \
		shim_enter(REAL_ROW_##name);           \
		if (!state_active())                   \
			return REAL(name)(context);    \
		before_context_goes(context);          \
		CUresult result = REAL(name)(context); \
		after_context_went(context, gone);     \
		return result;                         \
	}
DESTROY(cuCtxDestroy, result == CUDA_SUCCESS)
DESTROY(cuCtxDestroy_v2, result == CUDA_SUCCESS)
DESTROY(cuCtxDetach, is_gone(context))
#undef DESTROY

/* The device's primary context while it is active, else NULL. */
static CUcontext primary_context(CUdevice device)
{
	CUcontext context = NULL;
	unsigned flags;
	int is_alive = 0;

	if (REAL(cuDevicePrimaryCtxGetState)(device, &flags, &is_alive) != CUDA_SUCCESS ||
	    !is_alive)
		return NULL;
	/* Retain answers with the handle; the count goes straight back. */
	if (REAL(cuDevicePrimaryCtxRetain)(&context, device) != CUDA_SUCCESS)
		return NULL;
	REAL(cuDevicePrimaryCtxRelease_v2)(device);
	return context;
}

/* A reset ends it; of releases only the last one does, so it is looked at afterwards. */
#define END(name, gone)                                                              \
	HP_EXPORT CUresult name(CUdevice device)                                     \
	{                                                                            \
		shim_enter(REAL_ROW_##name);                                         \
		CUcontext context = state_active() ? primary_context(device) : NULL; \
		if (context == NULL)                                                 \
			return REAL(name)(device);                                   \
		before_context_goes(context);                                        \
		CUresult result = REAL(name)(device);                                \
		after_context_went(context, gone);                                   \
		return result;                                                       \
	}
END(cuDevicePrimaryCtxReset, result == CUDA_SUCCESS)
END(cuDevicePrimaryCtxReset_v2, result == CUDA_SUCCESS)
END(cuDevicePrimaryCtxRelease, primary_context(device) == NULL)
END(cuDevicePrimaryCtxRelease_v2, primary_context(device) == NULL)
#undef END

/* Streams that the legacy stream neither waits for nor holds up. */
static void note_stream(CUresult result, unsigned flags)
{
	if (result == CUDA_SUCCESS && (flags & CU_STREAM_NON_BLOCKING))
		atomic_store_explicit(&state_unordered_streams, true, memory_order_relaxed);
}

HP_EXPORT CUresult cuStreamCreate(CUstream *ret, unsigned flags)
{
	shim_enter(REAL_ROW_cuStreamCreate);

	CUresult result = REAL(cuStreamCreate)(ret, flags);
	note_stream(result, flags);
	return result;
}

HP_EXPORT CUresult cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority)
{
	shim_enter(REAL_ROW_cuStreamCreateWithPriority);

	CUresult result = REAL(cuStreamCreateWithPriority)(ret, flags, priority);
	note_stream(result, flags);
	return result;
}

#if CUDA_VERSION >= 12050
HP_EXPORT CUresult cuGreenCtxStreamCreate(CUstream *ret, CUgreenCtx context, unsigned flags,
					  int priority)
{
	shim_enter(REAL_ROW_cuGreenCtxStreamCreate);

	CUresult result = REAL(cuGreenCtxStreamCreate)(ret, context, flags, priority);
	note_stream(result, CU_STREAM_NON_BLOCKING);
	return result;
}
#endif

/* A capture ends with the stream that it began on. */
#define DESTROY(name)                                      \
	HP_EXPORT CUresult name(CUstream stream)           \
	{                                                  \
		shim_enter(REAL_ROW_##name);               \
		bool captured = capture_ends_with(stream); \
		CUresult result = REAL(name)(stream);      \
		if (captured && result == CUDA_SUCCESS)    \
			capture_ended(stream);             \
		return result;                             \
	}
DESTROY(cuStreamDestroy)
DESTROY(cuStreamDestroy_v2)
#undef DESTROY
