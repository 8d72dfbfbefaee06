/*
 * contexts.c - the calls that make contexts, and a list of those that live.
 *
 * The runtime takes primary contexts by cuDevicePrimaryCtxRetain(); both come by here.
 */
#include "shim/contexts.h"
#include "defer/exposure.h"
#include "shim/shim.h"

static CUcontext _Atomic contexts[CONTEXTS_MOST]; /* NULL: free */
static _Atomic bool too_many;
static _Atomic uint32_t ends;

static void made(CUresult result, const CUcontext *ret)
{
	CUcontext none = NULL;

	if (result != CUDA_SUCCESS || ret == NULL || *ret == NULL || !shim_active())
		return;
	for (int i = 0; i < CONTEXTS_MOST; i++)
		if (atomic_load(&contexts[i]) == *ret)
			return;
	for (int i = 0; i < CONTEXTS_MOST; i++, none = NULL)
		if (atomic_compare_exchange_strong(&contexts[i], &none, *ret)) {
			shim_housekeeper_start();
			return;
		}
	atomic_store(&too_many, true);
}

int contexts_list(CUcontext list[CONTEXTS_MOST])
{
	int count = 0;

	for (int i = 0; i < CONTEXTS_MOST; i++) {
		CUcontext context = atomic_load(&contexts[i]);

		if (context != NULL)
			list[count++] = context;
	}
	return atomic_load(&too_many) ? -1 : count;
}

void contexts_gone(CUcontext context)
{
	for (int i = 0; i < CONTEXTS_MOST; i++) {
		CUcontext expected = context;

		/* Two threads may have retained one for the first time at once. */
		atomic_compare_exchange_strong(&contexts[i], &expected, NULL);
	}
	atomic_fetch_add(&ends, 1);
}

uint32_t contexts_ends(void)
{
	return atomic_load(&ends);
}

#define MAKE(name, flags, parameters, arguments)        \
	HP_EXPORT CUresult name parameters              \
	{                                               \
		shim_enter(REAL_ROW_##name);            \
		exposure_flags(flags);                  \
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

CUresult contexts_record(CUcontext context, CUevent event)
{
#if CUDA_VERSION >= 12050
	if (REAL_HAS(cuCtxRecordEvent))
		return REAL(cuCtxRecordEvent)(context, event);
#else
	(void)context;
	(void)event;
#endif
	return CUDA_ERROR_NOT_SUPPORTED;
}
