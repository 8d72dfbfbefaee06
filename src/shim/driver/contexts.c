/*
 * contexts.c - the driver calls that create contexts and make them current.
 *
 * The CUDA runtime uses primary contexts, which cuDevicePrimaryCtxRetain() creates.  A thread makes
 * one of these calls, or cuInit(), before it can use CUDA.
 */
#include "engine/defer.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "real/contexts.h"
#include "shim/driver/enter.h"

static void note_context(CUresult result, const CUcontext *ret)
{
	if (result == CUDA_SUCCESS && ret != NULL && *ret != NULL && state_active &&
	    contexts_made(*ret))
		housekeeper_start();
}

#define CREATE(name, flags, parameters, arguments)      \
	HP_EXPORT CUresult name parameters              \
	{                                               \
		SHIM_ENTER(REAL_ROW_##name);            \
		defer_called();                         \
		visibility_flags(flags);                \
		CUresult result = REAL(name) arguments; \
		note_context(result, ret);              \
		return result;                          \
	}
CREATE(cuCtxCreate, flags, (CUcontext * ret, unsigned flags, CUdevice device), (ret, flags, device))
CREATE(cuCtxCreate_v2, flags, (CUcontext * ret, unsigned flags, CUdevice device),
       (ret, flags, device))
CREATE(cuCtxCreate_v3, flags,
       (CUcontext * ret, CUexecAffinityParam *affinity, int count, unsigned flags, CUdevice device),
       (ret, affinity, count, flags, device))
CREATE(cuCtxCreate_v4, flags,
       (CUcontext * ret, CUctxCreateParams *parameters, unsigned flags, CUdevice device),
       (ret, parameters, flags, device))
#undef CREATE

HP_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice device)
{
	SHIM_ENTER(REAL_ROW_cuDevicePrimaryCtxRetain);
	defer_called();
	CUresult result = REAL(cuDevicePrimaryCtxRetain)(ret, device);
	if (result == CUDA_SUCCESS)
		contexts_retained(device, *ret);
	note_context(result, ret);
	return result;
}

#define MAKE_CURRENT(name)                         \
	HP_EXPORT CUresult name(CUcontext context) \
	{                                          \
		SHIM_ENTER(REAL_ROW_##name);       \
		defer_called();                    \
		return REAL(name)(context);        \
	}
MAKE_CURRENT(cuCtxPushCurrent)
MAKE_CURRENT(cuCtxPushCurrent_v2)
MAKE_CURRENT(cuCtxSetCurrent)
#undef MAKE_CURRENT
