/*
 * wait.c - the calls in which the host waits for the device.
 *
 * They are timed for the profile; after a wait for a whole context the device is known to be idle.
 */
#include "base/clock.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "shim/driver/enter.h"
#include "trace/trace.h"

/* Times `call`: the wait, to the profile where there is one. */
#define TIMED(call)                                           \
	uint64_t enter_ns = trace_active() ? hp_now_ns() : 0; \
	CUresult result = call;                               \
	if (enter_ns != 0)                                    \
	trace_waited(enter_ns, hp_now_ns())

HP_EXPORT CUresult cuCtxSynchronize(void)
{
	SHIM_ENTER(REAL_ROW_cuCtxSynchronize);

	TIMED(REAL(cuCtxSynchronize)());
	if (result == CUDA_SUCCESS && state_active())
		housekeeper_device_idle();
	return result;
}

#if CUDA_VERSION >= 13000
HP_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context)
{
	SHIM_ENTER(REAL_ROW_cuCtxSynchronize_v2);

	TIMED(REAL(cuCtxSynchronize_v2)(context));
	if (result == CUDA_SUCCESS && state_active())
		housekeeper_device_idle();
	return result;
}
#endif

HP_EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	SHIM_ENTER(REAL_ROW_cuStreamSynchronize);
	TIMED(REAL(cuStreamSynchronize)(stream));
	return result;
}

HP_EXPORT CUresult cuStreamSynchronize_ptsz(CUstream stream)
{
	SHIM_ENTER(REAL_ROW_cuStreamSynchronize_ptsz);
	TIMED(REAL(cuStreamSynchronize_ptsz)(stream));
	return result;
}

HP_EXPORT CUresult cuEventSynchronize(CUevent event)
{
	SHIM_ENTER(REAL_ROW_cuEventSynchronize);
	TIMED(REAL(cuEventSynchronize)(event));
	return result;
}
#undef TIMED
