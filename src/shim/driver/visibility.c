/*
 * visibility.c - calls after which the host can see work on the GPU without another call.
 *
 * These are the calls whose arguments or results decide that.  For the other calls driver.def has
 * rows of the kind EXPOSES.
 */
#include "engine/state.h"
#include "base/thread.h"
#include "engine/unpin.h"
#include "engine/visibility.h"
#include "shim/driver/enter.h"

#define ALLOCATE(name, parameters, arguments)                                     \
	HP_EXPORT CUresult name parameters                                        \
	{                                                                         \
		SHIM_ENTER(REAL_ROW_##name);                                      \
		/* Before the call: another thread may use the memory at once. */ \
		bool acts = state_active;                                         \
		if (acts)                                                         \
			hp_uncancellable_begin();                                 \
		visibility_pinned(1);                                             \
		CUresult result = REAL(name) arguments;                           \
		if (unpin_for_program(result))                                    \
			result = REAL(name) arguments;                            \
		/* 0 bytes succeed with NULL (H200). */                           \
		if (result != CUDA_SUCCESS || *ret == NULL)                       \
			visibility_pinned(-1);                                    \
		else                                                              \
			shim_call_pinned(&shim_call, *ret, bytes, false);         \
		if (acts)                                                         \
			hp_uncancellable_end();                                   \
		return result;                                                    \
	}
ALLOCATE(cuMemAllocHost, (void **ret, unsigned bytes), (ret, bytes))
ALLOCATE(cuMemAllocHost_v2, (void **ret, size_t bytes), (ret, bytes))
ALLOCATE(cuMemHostAlloc, (void **ret, size_t bytes, unsigned flags), (ret, bytes, flags))
#undef ALLOCATE

/* These functions can allocate host memory too. */
static void note_location(const CUmemLocation *location)
{
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		visibility_raise(REAL_SEEN_MANAGED);
}

HP_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes,
			       const CUmemAllocationProp *properties, unsigned long long flags)
{
	SHIM_ENTER(REAL_ROW_cuMemCreate);
	if (properties != NULL)
		note_location(&properties->location);
	return REAL(cuMemCreate)(ret, bytes, properties, flags);
}

HP_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *ret, const CUmemPoolProps *properties)
{
	SHIM_ENTER(REAL_ROW_cuMemPoolCreate);
	if (properties != NULL)
		note_location(&properties->location);
	return REAL(cuMemPoolCreate)(ret, properties);
}

#define SET_FLAGS(name, parameters, arguments) \
	HP_EXPORT CUresult name parameters     \
	{                                      \
		SHIM_ENTER(REAL_ROW_##name);   \
		visibility_flags(flags);       \
		return REAL(name) arguments;   \
	}
SET_FLAGS(cuCtxSetFlags, (unsigned flags), (flags))
SET_FLAGS(cuDevicePrimaryCtxSetFlags, (CUdevice device, unsigned flags), (device, flags))
SET_FLAGS(cuDevicePrimaryCtxSetFlags_v2, (CUdevice device, unsigned flags), (device, flags))
#undef SET_FLAGS

/* A program that sets this limit prints; and engine/defer.c would restore the old value. */
HP_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	SHIM_ENTER(REAL_ROW_cuCtxSetLimit);
	if (limit == CU_LIMIT_PRINTF_FIFO_SIZE)
		visibility_raise(REAL_SEEN_PRINTF);
	return REAL(cuCtxSetLimit)(limit, value);
}

/* A global variable of a module may be managed memory. */
static void note_global(CUresult result, const CUdeviceptr *address)
{
	unsigned managed = 0;

	if (result == CUDA_SUCCESS && address != NULL &&
	    (REAL(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, *address) !=
		     CUDA_SUCCESS ||
	     managed != 0))
		visibility_raise(REAL_SEEN_MANAGED);
}

#define GET_GLOBAL(name, handle)                                                                \
	HP_EXPORT CUresult name(CUdeviceptr *ret, size_t *bytes, handle of, const char *symbol) \
	{                                                                                       \
		SHIM_ENTER(REAL_ROW_##name);                                                    \
		CUresult result = REAL(name)(ret, bytes, of, symbol);                           \
		note_global(result, ret);                                                       \
		return result;                                                                  \
	}
GET_GLOBAL(cuModuleGetGlobal_v2, CUmodule)
GET_GLOBAL(cuLibraryGetGlobal, CUlibrary)
#undef GET_GLOBAL
