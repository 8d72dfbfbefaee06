/*
 * wait.c - the calls in which the host waits for the device.
 *
 * The profile gets their durations.  After a wait for a whole context the device is idle.
 */
#include "base/clock.h"
#include "engine/housekeeper.h"
#include "engine/state.h"
#include "shim/driver/enter.h"
#include "trace/trace.h"

static void note_idle(CUresult result)
{
	if (result == CUDA_SUCCESS && state_active)
		housekeeper_device_idle();
}

#define WAIT(name, parameters, arguments, note)                            \
	HP_EXPORT CUresult name parameters                                 \
	{                                                                  \
		SHIM_ENTER(REAL_ROW_##name);                               \
		CUresult result = REAL(name) arguments;                    \
		if (shim_call.enter_ns != 0)                               \
			trace_waited(shim_call.enter_ns, hp_tsc_now_ns()); \
		note;                                                      \
		return result;                                             \
	}
WAIT(cuCtxSynchronize, (void), (), note_idle(result))
WAIT(cuCtxSynchronize_v2, (CUcontext context), (context), note_idle(result))
WAIT(cuStreamSynchronize, (CUstream stream), (stream), (void)0)
WAIT(cuStreamSynchronize_ptsz, (CUstream stream), (stream), (void)0)
WAIT(cuEventSynchronize, (CUevent event), (event), (void)0)
#undef WAIT
