/*
 * memsets.c - the exported memset functions.
 *
 * These functions fill device memory.  The driver refuses pageable memory (error 1) but would fill
 * a pinned block, so hotpin unpins such a block first.
 */
#include "engine/unpin.h"
#include "shim/driver/enter.h"

/* The flavors of one function: synchronous, per-thread, asynchronous, per-thread. */
#define FILL(sync, async, parameters, arguments)                                   \
	FILL_ONE(sync##_v2, NULL, PARAMETERS parameters, ARGUMENTS arguments)      \
	FILL_ONE(sync##_v2_ptds, NULL, PARAMETERS parameters, ARGUMENTS arguments) \
	FILL_ONE(async, stream, PARAMETERS_ON parameters, ARGUMENTS_ON arguments)  \
	FILL_ONE(async##_ptsz, stream, PARAMETERS_ON parameters, ARGUMENTS_ON arguments)
#define PARAMETERS(...)    (CUdeviceptr dst, __VA_ARGS__)
#define PARAMETERS_ON(...) (CUdeviceptr dst, __VA_ARGS__, CUstream stream)
#define ARGUMENTS(...)     (dst, __VA_ARGS__)
#define ARGUMENTS_ON(...)  (dst, __VA_ARGS__, stream)

#define FILL_ONE(name, on, parameters, arguments)       \
	HP_EXPORT CUresult name parameters              \
	{                                               \
		SHIM_ENTER_ON(REAL_ROW_##name, on);     \
		bool refused = unpin_refuse(dst);       \
		CUresult result = REAL(name) arguments; \
                                                        \
		if (refused)                            \
			unpin_release();                \
		return result;                          \
	}

FILL(cuMemsetD8, cuMemsetD8Async, (unsigned char value, size_t count), (value, count))
FILL(cuMemsetD16, cuMemsetD16Async, (unsigned short value, size_t count), (value, count))
FILL(cuMemsetD32, cuMemsetD32Async, (unsigned value, size_t count), (value, count))
FILL(cuMemsetD2D8, cuMemsetD2D8Async,
     (size_t pitch, unsigned char value, size_t width, size_t height),
     (pitch, value, width, height))
FILL(cuMemsetD2D16, cuMemsetD2D16Async,
     (size_t pitch, unsigned short value, size_t width, size_t height),
     (pitch, value, width, height))
FILL(cuMemsetD2D32, cuMemsetD2D32Async, (size_t pitch, unsigned value, size_t width, size_t height),
     (pitch, value, width, height))
