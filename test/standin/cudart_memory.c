/*
 * cudart_memory.c - allocation, registration and pointer queries of the runtime.
 *
 * cudaMallocHost and cudaHostAlloc are both cuMemHostAlloc, as with NVIDIA's.
 */
#include "cudart.h"

#include <string.h>

static cudaError_t result(CUresult rc)
{
	return runtime_leave(runtime_result(rc));
}

/* Zero bytes are no error for the runtime: the pointer becomes null. */
cudaError_t cudaMalloc(void **ret, size_t n)
{
	RUNTIME_ENTER;
	if (ret == NULL)
		return runtime_leave(cudaErrorInvalidValue);
	if (n == 0) {
		*ret = NULL;
		return cudaSuccess;
	}
	return result(driver.cuMemAlloc_v2((CUdeviceptr *)ret, n));
}

cudaError_t cudaMallocPitch(void **ret, size_t *pitch, size_t width, size_t height)
{
	RUNTIME_ENTER;
	return result(driver.cuMemAllocPitch_v2((CUdeviceptr *)ret, pitch, width, height, 4));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ret, struct cudaExtent extent)
{
	cudaError_t error;

	if (ret == NULL)
		return runtime_leave(cudaErrorInvalidValue);
	error = cudaMallocPitch(&ret->ptr, &ret->pitch, extent.width, extent.height * extent.depth);
	ret->xsize = extent.width;
	ret->ysize = extent.height;
	return error;
}

cudaError_t cudaMallocHost(void **ret, size_t n)
{
	RUNTIME_ENTER;
	return result(driver.cuMemHostAlloc(ret, n, 0));
}

cudaError_t cudaHostAlloc(void **ret, size_t n, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.cuMemHostAlloc(ret, n, flags));
}

cudaError_t cudaMallocManaged(void **ret, size_t n, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.cuMemAllocManaged((CUdeviceptr *)ret, n, flags));
}

cudaError_t cudaFree(void *at)
{
	RUNTIME_ENTER;
	return at == NULL ? cudaSuccess : result(driver.cuMemFree_v2((CUdeviceptr)at));
}

cudaError_t cudaFreeHost(void *at)
{
	RUNTIME_ENTER;
	return at == NULL ? cudaSuccess : result(driver.cuMemFreeHost(at));
}

cudaError_t cudaHostRegister(void *at, size_t n, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.cuMemHostRegister_v2(at, n, flags));
}

cudaError_t cudaHostUnregister(void *at)
{
	RUNTIME_ENTER;
	return result(driver.cuMemHostUnregister(at));
}

cudaError_t cudaHostGetDevicePointer(void **ret, void *at, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.cuMemHostGetDevicePointer_v2((CUdeviceptr *)ret, at, flags));
}

cudaError_t cudaHostGetFlags(unsigned *ret, void *at)
{
	RUNTIME_ENTER;
	return result(driver.cuMemHostGetFlags(ret, at));
}

cudaError_t cudaMemGetInfo(size_t *avail, size_t *total)
{
	RUNTIME_ENTER;
	return result(driver.cuMemGetInfo_v2(avail, total));
}

cudaError_t cudaMemAdvise(const void *at, size_t n, enum cudaMemoryAdvise advice,
			  struct cudaMemLocation where)
{
	CUmemLocation location = { .type = (CUmemLocationType)where.type, .id = where.id };

	RUNTIME_ENTER;
	return result(driver.cuMemAdvise_v2((CUdeviceptr)at, n, (CUmem_advise)advice, location));
}

cudaError_t cudaMallocArray(cudaArray_t *ret, const struct cudaChannelFormatDesc *desc,
			    size_t width, size_t height, unsigned flags)
{
	static const CUarray_format formats[3][3] = {
		{ CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32 },
		{ CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16,
		  CU_AD_FORMAT_UNSIGNED_INT32 },
		{ 0, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT }
	};
	CUDA_ARRAY3D_DESCRIPTOR wide = { .Width = width, .Height = height, .Flags = flags };

	RUNTIME_ENTER;
	if (desc == NULL || desc->f > cudaChannelFormatKindFloat ||
	    (desc->x != 8 && desc->x != 16 && desc->x != 32))
		return runtime_leave(cudaErrorInvalidChannelDescriptor);
	wide.Format = formats[desc->f][desc->x / 16];
	wide.NumChannels = 1u + (desc->y != 0) + (desc->z != 0) + (desc->w != 0);
	return result(driver.cuArray3DCreate_v2((CUarray *)ret, &wide));
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
	RUNTIME_ENTER;
	return array == NULL ? cudaSuccess : result(driver.cuArrayDestroy((CUarray)array));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret, const void *at)
{
	CUmemorytype type = 0;
	int ordinal = 0;
	bool managed = false;
	void *device = NULL, *host = NULL;
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
					CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
					CU_POINTER_ATTRIBUTE_HOST_POINTER };
	void *values[] = { &type, &ordinal, &managed, &device, &host };
	CUresult rc;

	RUNTIME_ENTER;
	if (ret == NULL)
		return runtime_leave(cudaErrorInvalidValue);
	rc = driver.cuPointerGetAttributes(5, names, values, (CUdeviceptr)at);
	if (rc != CUDA_SUCCESS)
		return result(rc);
	memset(ret, 0, sizeof(*ret));
	ret->device = ordinal;
	ret->devicePointer = device;
	ret->hostPointer = host;
	if (managed)
		ret->type = cudaMemoryTypeManaged;
	else if (type == CU_MEMORYTYPE_DEVICE)
		ret->type = cudaMemoryTypeDevice;
	else if (type == CU_MEMORYTYPE_HOST)
		ret->type = cudaMemoryTypeHost;
	if (ret->type == cudaMemoryTypeUnregistered)
		ret->hostPointer = (void *)(uintptr_t)at;
	return cudaSuccess;
}

static cudaError_t entry_point(const char *symbol, void **ret, unsigned version,
			       unsigned long long flags,
			       enum cudaDriverEntryPointQueryResult *status)
{
	CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
	CUresult rc;

	RUNTIME_ENTER;
	rc = driver.cuGetProcAddress_v2(symbol, ret, (int)version, flags, &found);
	if (status != NULL)
		*status = (enum cudaDriverEntryPointQueryResult)found;
	return result(rc);
}

#pragma GCC visibility push(default)
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* CUDA 13 declares the first of these no longer, but still exports it. */
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **ret, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *status)
{
	return entry_point(symbol, ret, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *symbol, void **ret, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *status)
{
	return entry_point(symbol, ret, CUDART_VERSION, flags == 0 ? 2 : flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **ret, unsigned version,
					     unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *status)
{
	return entry_point(symbol, ret, version, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *symbol, void **ret, unsigned version,
						  unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *status)
{
	return entry_point(symbol, ret, version, flags == 0 ? 2 : flags, status);
}

#pragma GCC visibility pop
