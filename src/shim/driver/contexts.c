/*
 * contexts.c - the driver calls that make contexts.
 *
 * The runtime takes primary contexts by cuDevicePrimaryCtxRetain().
 */
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "real/contexts.h"
#include "shim/driver/enter.h"

static void made(CUresult result, const CUcontext *ret)
{
	if (result == CUDA_SUCCESS && ret != NULL && *ret != NULL && state_active() &&
	    contexts_made(*ret))
		housekeeper_start();
}

#define MAKE(name, flags, parameters, arguments)        \
	HP_EXPORT CUresult name parameters              \
	{                                               \
		SHIM_ENTER(REAL_ROW_##name);            \
		visibility_flags(flags);                \
		CUresult result = REAL(name) arguments; \
		made(result, ret);                      \
		return result;                          \
	}
MAKE(cuCtxCreate, flags, (CUcontext * ret, unsigned flags, CUdevice device), (ret, flags, device))
MAKE(cuCtxCreate_v2, flags, (CUcontext * ret, unsigned flags, CUdevice device),
     (ret, flags, device))
MAKE(cuCtxCreate_v3, flags,
     (CUcontext * ret, CUexecAffinityParam *affinity, int count, unsigned flags, CUdevice device),
     (ret, affinity, count, flags, device))
#if CUDA_VERSION >= 12050
MAKE(cuCtxCreate_v4, flags,
     (CUcontext * ret, CUctxCreateParams *parameters, unsigned flags, CUdevice device),
     (ret, parameters, flags, device))
#endif
MAKE(cuDevicePrimaryCtxRetain, 0, (CUcontext * ret, CUdevice device), (ret, device))
#undef MAKE
