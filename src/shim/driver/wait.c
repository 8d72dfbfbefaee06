/*
 * wait.c - the calls in which the host waits for the device.
 * The profile gets their durations.
 */
#include "shim/driver/enter.h"
#include "trace/trace.h"

#define WAIT(name, parameters, arguments)                              \
	HP_EXPORT CUresult name parameters                             \
	{                                                              \
		SHIM_ENTER(REAL_ROW_##name);                           \
		CUresult result = REAL(name) arguments;                \
		if (shim_call.enter_ns != 0)                           \
			trace_waited(shim_call.enter_ns, hp_now_ns()); \
		return result;                                         \
	}
WAIT(cuCtxSynchronize, (void), ())
WAIT(cuCtxSynchronize_v2, (CUcontext context), (context))
WAIT(cuStreamSynchronize, (CUstream stream), (stream))
WAIT(cuStreamSynchronize_ptsz, (CUstream stream), (stream))
WAIT(cuEventSynchronize, (CUevent event), (event))
#undef WAIT
