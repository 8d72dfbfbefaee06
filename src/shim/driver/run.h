/*
 * The bodies of wrappers that are alike: copies, and calls that need pageable memory.
 */
#ifndef HP_SHIM_DRIVER_RUN_H
#define HP_SHIM_DRIVER_RUN_H

#include "engine/copy.h"
#include "engine/unpin.h"
#include "pin/use.h"
#include "shim/driver/enter.h"
#include "shim/export.h"
#include "trace/trace.h"

/*
 * Carries out the variable `request` and returns the result.  `arguments` are those of the driver's
 * function, which runs for each piece of the variable `copy` that the route leaves to it.  In a
 * profile the time of the call includes the gate and pins.
 */
#define SHIM_COPY_RUN(name, arguments)                                                      \
	struct copy copy;                                                                   \
	if (request.extent == 0)                                                            \
		request.extent = request.bytes;                                             \
	request.frame = __builtin_frame_address(0);                                         \
	SHIM_ENTER_ON(REAL_ROW_##name, request.bytes != 0 ? request.stream : GATE_NO_WORK); \
	request.called_ns = shim_call.enter_ns;                                             \
	copy_begin(&copy, &request);                                                        \
	if (copy_wants_stack(&copy))                                                        \
		copy.on_stack = __builtin_alloca(request.extent);                           \
	while (copy_next(&copy))                                                            \
		copy.result = REAL(name) arguments;                                         \
	return copy_end(&copy)

/* Defines a function whose blocks `unpin` unpins; nothing is pinned until the driver returns. */
#define SHIM_UNPINS(name, on, unpin, parameters, arguments) \
	HP_EXPORT CUresult name parameters                  \
	{                                                   \
		SHIM_ENTER_ON(REAL_ROW_##name, on);         \
		pin_give_back(__builtin_frame_address(0));  \
		unpin_hold();                               \
		unpin;                                      \
		CUresult result = REAL(name) arguments;     \
		unpin_release();                            \
		return result;                              \
	}

#endif
