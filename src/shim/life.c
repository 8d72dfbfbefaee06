/*
 * life.c - the driver's beginning, look-ups, contexts and streams.
 */
#include "base/log.h"
#include "host/pin.h"
#include "shim/shim.h"
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
	if (result == CUDA_SUCCESS && ret != NULL && *ret != NULL && shim_active())
		*ret = shim_route(*ret);
	return result;
}

HP_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **ret, int version, cuuint64_t flags,
				       CUdriverProcAddressQueryResult *status)
{
	shim_enter(REAL_ROW_cuGetProcAddress_v2);

	CUresult result = REAL(cuGetProcAddress_v2)(name, ret, version, flags, status);
	if (result == CUDA_SUCCESS && ret != NULL && *ret != NULL && shim_active())
		*ret = shim_route(*ret);
	return result;
}

/*
 * A context takes its registrations with it.  They are forgotten before the driver is asked: a
 * copy that another thread starts meanwhile must not take a block for pinned.
 */
static void before_context_goes(CUcontext context)
{
	if (!shim_active())
		return;
	trace_flush();
	pin_forget_context((uintptr_t)context);
}

#define DESTROY(name)                              \
	HP_EXPORT CUresult name(CUcontext context) \
	{                                          \
		shim_enter(REAL_ROW_##name);       \
		before_context_goes(context);      \
		return REAL(name)(context);        \
	}
DESTROY(cuCtxDestroy)
DESTROY(cuCtxDestroy_v2)
DESTROY(cuCtxDetach)
#undef DESTROY

/* The device's primary context while it is active, else NULL. */
static CUcontext primary_context(CUdevice device)
{
	CUcontext context = NULL;
	unsigned flags;
	int is_active = 0;

	if (!shim_active() ||
	    REAL(cuDevicePrimaryCtxGetState)(device, &flags, &is_active) != CUDA_SUCCESS ||
	    !is_active)
		return NULL;
	/* Retain answers with the handle; the count goes straight back. */
	if (REAL(cuDevicePrimaryCtxRetain)(&context, device) != CUDA_SUCCESS)
		return NULL;
	REAL(cuDevicePrimaryCtxRelease_v2)(device);
	return context;
}

#define RESET(name)                                          \
	HP_EXPORT CUresult name(CUdevice device)             \
	{                                                    \
		shim_enter(REAL_ROW_##name);                 \
		CUcontext context = primary_context(device); \
		if (context != NULL)                         \
			before_context_goes(context);        \
		return REAL(name)(device);                   \
	}
RESET(cuDevicePrimaryCtxReset)
RESET(cuDevicePrimaryCtxReset_v2)
#undef RESET

/* Only the last release takes the context away, so it is looked at afterwards. */
#define RELEASE(name)                                                   \
	HP_EXPORT CUresult name(CUdevice device)                        \
	{                                                               \
		shim_enter(REAL_ROW_##name);                            \
		CUcontext context = primary_context(device);            \
		CUresult result = REAL(name)(device);                   \
		if (context != NULL && primary_context(device) == NULL) \
			pin_forget_context((uintptr_t)context);         \
		return result;                                          \
	}
RELEASE(cuDevicePrimaryCtxRelease)
RELEASE(cuDevicePrimaryCtxRelease_v2)
#undef RELEASE

/* Streams that the legacy stream neither waits for nor holds up. */
static void note_stream(CUresult result, unsigned flags)
{
	if (result == CUDA_SUCCESS && (flags & CU_STREAM_NON_BLOCKING))
		atomic_store_explicit(&shim_unordered_streams, true, memory_order_relaxed);
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

HP_EXPORT CUresult cuGreenCtxStreamCreate(CUstream *ret, CUgreenCtx context, unsigned flags,
					  int priority)
{
	shim_enter(REAL_ROW_cuGreenCtxStreamCreate);

	CUresult result = REAL(cuGreenCtxStreamCreate)(ret, context, flags, priority);
	note_stream(result, CU_STREAM_NON_BLOCKING);
	return result;
}
