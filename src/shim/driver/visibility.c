/*
 * visibility.c - calls after which what the device does can be seen without another call, where
 * that depends on their arguments or on their success; the rest is EXPOSES in driver.def.
 */
#include "base/cancel.h"
#include "engine/state.h"
#include "engine/visibility.h"
#include "shim/driver/enter.h"

#define ALLOCATE(name, parameters, arguments)                           \
	HP_EXPORT CUresult name parameters                              \
	{                                                               \
		SHIM_ENTER(REAL_ROW_##name);                            \
		/* Before the call: work may be given to it at once. */ \
		bool acts = state_active();                             \
		if (acts)                                               \
			hp_uncancellable_begin();                       \
		visibility_pinned(1);                                   \
		CUresult result = REAL(name) arguments;                 \
		/* Nothing can be asked for (H200), and is nowhere. */  \
		if (result != CUDA_SUCCESS || *ret == NULL)             \
			visibility_pinned(-1);                          \
		if (acts)                                               \
			hp_uncancellable_end();                         \
		return result;                                          \
	}
ALLOCATE(cuMemAllocHost, (void **ret, unsigned bytes), (ret, bytes))
ALLOCATE(cuMemAllocHost_v2, (void **ret, size_t bytes), (ret, bytes))
ALLOCATE(cuMemHostAlloc, (void **ret, size_t bytes, unsigned flags), (ret, bytes, flags))
#undef ALLOCATE

/* Memory of the host's own can be asked for where the device's is. */
static void look_at(const CUmemLocation *location)
{
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
		visibility_raise(REAL_SEEN_MANAGED);
}

HP_EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *ret, size_t bytes,
			       const CUmemAllocationProp *wish, unsigned long long flags)
{
	SHIM_ENTER(REAL_ROW_cuMemCreate);
	if (wish != NULL)
		look_at(&wish->location);
	return REAL(cuMemCreate)(ret, bytes, wish, flags);
}

HP_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *ret, const CUmemPoolProps *wish)
{
	SHIM_ENTER(REAL_ROW_cuMemPoolCreate);
	if (wish != NULL)
		look_at(&wish->location);
	return REAL(cuMemPoolCreate)(ret, wish);
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

/* Who sets it prints; and we would set it back (engine/defer.c). */
HP_EXPORT CUresult cuCtxSetLimit(CUlimit limit, size_t value)
{
	SHIM_ENTER(REAL_ROW_cuCtxSetLimit);
	if (limit == CU_LIMIT_PRINTF_FIFO_SIZE)
		visibility_raise(REAL_SEEN_PRINTF);
	return REAL(cuCtxSetLimit)(limit, value);
}

/* A global of a module may be managed. */
static void look_at_global(CUresult result, const CUdeviceptr *address)
{
	unsigned managed = 0;

	if (result == CUDA_SUCCESS && address != NULL &&
	    (REAL(cuPointerGetAttribute)(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, *address) !=
		     CUDA_SUCCESS ||
	     managed != 0))
		visibility_raise(REAL_SEEN_MANAGED);
}

HP_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *ret, size_t *bytes, CUmodule module,
					const char *name)
{
	SHIM_ENTER(REAL_ROW_cuModuleGetGlobal_v2);

	CUresult result = REAL(cuModuleGetGlobal_v2)(ret, bytes, module, name);
	look_at_global(result, ret);
	return result;
}

HP_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *ret, size_t *bytes, CUlibrary library,
				      const char *name)
{
	SHIM_ENTER(REAL_ROW_cuLibraryGetGlobal);

	CUresult result = REAL(cuLibraryGetGlobal)(ret, bytes, library, name);
	look_at_global(result, ret);
	return result;
}
