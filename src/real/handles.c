/*
 * handles.c - asks the driver for ids; keeps no state.
 */
#include "real/handles.h"
#include "base/protections.h"

#include <stdatomic.h>
#include <stddef.h>

bool handles_context(CUcontext *ret, unsigned long long *ret_id)
{
	*ret = NULL;
	*ret_id = 0;
	if (REAL(cuCtxGetCurrent)(ret) != CUDA_SUCCESS || *ret == NULL)
		return false;
	if (REAL_HAS(cuCtxGetId))
		REAL(cuCtxGetId)(*ret, ret_id);
	return true;
}

bool handles_stream_is_of(CUstream stream, CUcontext context)
{
	CUcontext of = NULL;

	if (stream == NULL || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD ||
	    !hp_keeps(staged_in_one_context))
		return true;
	return REAL(cuStreamGetCtx)(stream, &of) == CUDA_SUCCESS && of == context;
}

unsigned handles_event_flags(void)
{
	unsigned flags = 0;

	if (REAL(cuCtxGetFlags)(&flags) != CUDA_SUCCESS)
		flags = 0;
	return CU_EVENT_DISABLE_TIMING |
	       (flags & CU_CTX_SCHED_BLOCKING_SYNC ? CU_EVENT_BLOCKING_SYNC : 0);
}
