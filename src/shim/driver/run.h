/*
 * The body of every copy wrapper.
 */
#ifndef HP_SHIM_DRIVER_RUN_H
#define HP_SHIM_DRIVER_RUN_H

#include "engine/copy.h"
#include "shim/driver/enter.h"
#include "shim/export.h"
#include "trace/trace.h"

/*
 * Carries out `request` and returns.  `arguments`: of the driver's function, which runs once for
 * each piece of `copy`.  Time in the gate and for pins counts as the program's copy.
 */
#define SHIM_COPY_RUN(name, arguments)                                                      \
	struct copy copy;                                                                   \
	if (request.extent == 0)                                                            \
		request.extent = request.bytes;                                             \
	request.frame = __builtin_frame_address(0);                                         \
	SHIM_ENTER_ON(REAL_ROW_##name, request.bytes != 0 ? request.stream : GATE_NO_WORK); \
	request.called_ns = shim_call.enter_ns;                                             \
	copy_begin(&copy, &request);                                                        \
	while (copy_next(&copy))                                                            \
		copy.result = REAL(name) arguments;                                         \
	return copy_end(&copy)

#endif
