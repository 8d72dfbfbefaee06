/*
 * cudart_copy.c - copies and launches of the runtime, and functions that only call the driver.
 */
#include "cudart.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

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

static CUmemorytype source_type(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost
		       ? CU_MEMORYTYPE_HOST
		       : CU_MEMORYTYPE_DEVICE;
}

static CUmemorytype target_type(enum cudaMemcpyKind kind)
{
	if (kind == cudaMemcpyDefault)
		return CU_MEMORYTYPE_UNIFIED;
	return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost
		       ? CU_MEMORYTYPE_HOST
		       : CU_MEMORYTYPE_DEVICE;
}

static cudaError_t rows_of(CUDA_MEMCPY2D *c, void *dst, size_t dpitch, const void *src,
			   size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (width > dpitch || width > spitch)
		return cudaErrorInvalidPitchValue;
	*c = (CUDA_MEMCPY2D){ .srcMemoryType = source_type(kind),
			      .srcHost = src,
			      .srcDevice = (CUdeviceptr)src,
			      .srcPitch = spitch,
			      .dstMemoryType = target_type(kind),
			      .dstHost = dst,
			      .dstDevice = (CUdeviceptr)dst,
			      .dstPitch = dpitch,
			      .WidthInBytes = width,
			      .Height = height };
	return cudaSuccess;
}

static CUDA_MEMCPY2D host_rows(void *dst, const void *src, size_t n)
{
	CUDA_MEMCPY2D c = { 0 };

	rows_of(&c, dst, n, src, n, n, 1, cudaMemcpyHostToHost);
	return c;
}

static cudaError_t place(const void *symbol, size_t n, size_t offset, CUdeviceptr *ret)
{
	size_t bytes;
	cudaError_t error = symbol_of(symbol, ret, &bytes);

	if (error != cudaSuccess)
		return error;
	if (offset > bytes || n > bytes - offset)
		return cudaErrorInvalidValue;
	*ret += offset;
	return cudaSuccess;
}

#pragma GCC visibility push(default)

#define RUN(name, params, function, args) RUN_IF(true, name, params, function, args)
#define RUN_IF(condition, name, params, function, args)                          \
	cudaError_t name params                                                  \
	{                                                                        \
		RUNTIME_ENTER;                                                   \
		return (condition) ? result(driver.function args) : cudaSuccess; \
	}
#include "cudart.def"

cudaError_t cudaMemcpy(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
	CUDA_MEMCPY2D rows = host_rows(dst, src, n);

	RUNTIME_ENTER;
	if (n == 0)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return result(driver.cuMemcpyHtoD_v2(to, src, n));
	case cudaMemcpyDeviceToHost:
		return result(driver.cuMemcpyDtoH_v2(dst, from, n));
	case cudaMemcpyDeviceToDevice:
		return result(driver.cuMemcpyDtoD_v2(to, from, n));
	case cudaMemcpyHostToHost:
		return result(driver.cuMemcpy2DUnaligned_v2(&rows));
	case cudaMemcpyDefault:
		return result(driver.cuMemcpy(to, from, n));
	}
	return runtime_leave(cudaErrorInvalidMemcpyDirection);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind,
			    cudaStream_t s)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
	CUDA_MEMCPY2D rows = host_rows(dst, src, n);

	RUNTIME_ENTER;
	if (n == 0)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return result(driver.cuMemcpyHtoDAsync_v2(to, src, n, s));
	case cudaMemcpyDeviceToHost:
		return result(driver.cuMemcpyDtoHAsync_v2(dst, from, n, s));
	case cudaMemcpyDeviceToDevice:
		return result(driver.cuMemcpyDtoDAsync_v2(to, from, n, s));
	case cudaMemcpyHostToHost:
		return result(driver.cuMemcpy2DAsync_v2(&rows, s));
	case cudaMemcpyDefault:
		return result(driver.cuMemcpyAsync(to, from, n, s));
	}
	return runtime_leave(cudaErrorInvalidMemcpyDirection);
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = rows_of(&c, dst, dpitch, src, spitch, width, height, kind);
	if (error != cudaSuccess || width == 0 || height == 0)
		return runtime_leave(error);
	return result(driver.cuMemcpy2DUnaligned_v2(&c));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
			      size_t width, size_t height, enum cudaMemcpyKind kind, cudaStream_t s)
{
	CUDA_MEMCPY2D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = rows_of(&c, dst, dpitch, src, spitch, width, height, kind);
	if (error != cudaSuccess || width == 0 || height == 0)
		return runtime_leave(error);
	return result(driver.cuMemcpy2DAsync_v2(&c, s));
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *src, size_t n, size_t offset,
			       enum cudaMemcpyKind kind)
{
	CUdeviceptr at;
	cudaError_t error = place(symbol, n, offset, &at);

	return error != cudaSuccess ? runtime_leave(error) : cudaMemcpy((void *)at, src, n, kind);
}

cudaError_t cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t n, size_t offset,
				 enum cudaMemcpyKind kind)
{
	CUdeviceptr at;
	cudaError_t error = place(symbol, n, offset, &at);

	return error != cudaSuccess ? runtime_leave(error) : cudaMemcpy(dst, (void *)at, n, kind);
}

cudaError_t cudaGetSymbolAddress(void **ret, const void *symbol)
{
	CUdeviceptr at = 0;
	cudaError_t error = symbol_of(symbol, &at, NULL);

	if (error == cudaSuccess)
		*ret = (void *)at;
	return runtime_leave(error);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
			     size_t shared, cudaStream_t s)
{
	CUkernel kernel;
	cudaError_t error = kernel_of(function, &kernel);

	return error != cudaSuccess ? runtime_leave(error)
				    : __cudaLaunchKernel(kernel, grid, block, args, shared, s);
}

#pragma GCC visibility pop
