/*
 * cudart_stream.c - the copies, launches and stream functions of the runtime, in both flavours.
 *
 * Which driver function serves which call was read off NVIDIA's runtime 13.0 on an H200.
 */
#include "cudart.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static cudaError_t result(CUresult rc)
{
	return runtime_leave(runtime_result(rc));
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

static size_t element_of(cudaArray_const_t array)
{
	CUDA_ARRAY3D_DESCRIPTOR desc = { 0 };
	size_t bytes = 4;

	driver.cuArray3DGetDescriptor_v2(&desc, (CUarray)(uintptr_t)array);
	if (desc.Format == CU_AD_FORMAT_UNSIGNED_INT8 || desc.Format == CU_AD_FORMAT_SIGNED_INT8)
		bytes = 1;
	if (desc.Format == CU_AD_FORMAT_UNSIGNED_INT16 ||
	    desc.Format == CU_AD_FORMAT_SIGNED_INT16 || desc.Format == CU_AD_FORMAT_HALF)
		bytes = 2;
	return bytes * desc.NumChannels;
}

/* Positions and widths are in elements where an array takes part, else in bytes. */
static cudaError_t box_of(CUDA_MEMCPY3D *c, const struct cudaMemcpy3DParms *p)
{
	size_t unit = 1;

	if (p == NULL || (unsigned)p->kind > cudaMemcpyDefault)
		return cudaErrorInvalidValue;
	if (p->srcArray != NULL || p->dstArray != NULL)
		unit = element_of(p->srcArray != NULL ? p->srcArray : p->dstArray);
	*c = (CUDA_MEMCPY3D){
		.srcXInBytes = p->srcPos.x * (p->srcArray != NULL ? unit : 1),
		.srcY = p->srcPos.y,
		.srcZ = p->srcPos.z,
		.srcMemoryType = p->srcArray != NULL ? CU_MEMORYTYPE_ARRAY : source_type(p->kind),
		.srcHost = p->srcPtr.ptr,
		.srcDevice = (CUdeviceptr)p->srcPtr.ptr,
		.srcArray = (CUarray)p->srcArray,
		.srcPitch = p->srcPtr.pitch,
		.srcHeight = p->srcPtr.ysize,
		.dstXInBytes = p->dstPos.x * (p->dstArray != NULL ? unit : 1),
		.dstY = p->dstPos.y,
		.dstZ = p->dstPos.z,
		.dstMemoryType = p->dstArray != NULL ? CU_MEMORYTYPE_ARRAY : target_type(p->kind),
		.dstHost = p->dstPtr.ptr,
		.dstDevice = (CUdeviceptr)p->dstPtr.ptr,
		.dstArray = (CUarray)p->dstArray,
		.dstPitch = p->dstPtr.pitch,
		.dstHeight = p->dstPtr.ysize,
		.WidthInBytes = p->extent.width * unit,
		.Height = p->extent.height,
		.Depth = p->extent.depth
	};
	return cudaSuccess;
}

static cudaError_t to_array(CUDA_MEMCPY3D *c, cudaArray_t dst, size_t x, size_t y, const void *src,
			    size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind)
{
	if (dst == NULL)
		return cudaErrorInvalidValue;
	element_of(dst);
	*c = (CUDA_MEMCPY3D){ .srcMemoryType = source_type(kind),
			      .srcHost = src,
			      .srcDevice = (CUdeviceptr)src,
			      .srcPitch = spitch,
			      .dstXInBytes = x,
			      .dstY = y,
			      .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			      .dstArray = (CUarray)dst,
			      .WidthInBytes = width,
			      .Height = height,
			      .Depth = 1 };
	return cudaSuccess;
}

static cudaError_t from_array(CUDA_MEMCPY3D *c, void *dst, size_t dpitch, cudaArray_const_t src,
			      size_t x, size_t y, size_t width, size_t height,
			      enum cudaMemcpyKind kind)
{
	if (src == NULL)
		return cudaErrorInvalidValue;
	element_of(src);
	*c = (CUDA_MEMCPY3D){ .srcXInBytes = x,
			      .srcY = y,
			      .srcMemoryType = CU_MEMORYTYPE_ARRAY,
			      .srcArray = (CUarray)(uintptr_t)src,
			      .dstMemoryType = target_type(kind),
			      .dstHost = dst,
			      .dstDevice = (CUdeviceptr)dst,
			      .dstPitch = dpitch,
			      .WidthInBytes = width,
			      .Height = height,
			      .Depth = 1 };
	return cudaSuccess;
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

#define DS(name) name
#define SZ(name) name
#include "flavour_cudart.h"
#undef DS
#undef SZ

#define DS(name) name##_ptds
#define SZ(name) name##_ptsz
#include "flavour_cudart.h"

cudaError_t cudaMemcpyPeer(void *dst, int to, const void *src, int from, size_t n)
{
	CUcontext dst_ctx, src_ctx;

	RUNTIME_ENTER;
	if (n == 0)
		return cudaSuccess;
	if (driver.cuDevicePrimaryCtxRetain(&dst_ctx, to) != CUDA_SUCCESS ||
	    driver.cuDevicePrimaryCtxRetain(&src_ctx, from) != CUDA_SUCCESS)
		return runtime_leave(cudaErrorInvalidDevice);
	return result(driver.cuMemcpyPeer((CUdeviceptr)dst, dst_ctx, (CUdeviceptr)src, src_ctx, n));
}

cudaError_t cudaStreamCreate(cudaStream_t *ret)
{
	RUNTIME_ENTER;
	return result(driver.cuStreamCreate(ret, CU_STREAM_DEFAULT));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *ret, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.cuStreamCreate(ret, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *ret, unsigned flags, int priority)
{
	RUNTIME_ENTER;
	return result(driver.cuStreamCreateWithPriority(ret, flags, priority));
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.cuStreamDestroy_v2(s));
}

cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	RUNTIME_ENTER;
	return result(driver.cuThreadExchangeStreamCaptureMode((CUstreamCaptureMode *)mode));
}

cudaError_t cudaEventCreate(cudaEvent_t *ret)
{
	RUNTIME_ENTER;
	return result(driver.cuEventCreate(ret, CU_EVENT_DEFAULT));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *ret, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.cuEventCreate(ret, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
	RUNTIME_ENTER;
	return result(driver.cuEventDestroy_v2(event));
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
	RUNTIME_ENTER;
	return result(driver.cuEventQuery(event));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
	RUNTIME_ENTER;
	return result(driver.cuEventSynchronize(event));
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	RUNTIME_ENTER;
	return result(driver.cuEventElapsedTime_v2(ms, start, end));
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *ret, cudaGraph_t graph, unsigned long long flags)
{
	RUNTIME_ENTER;
	return result(driver.cuGraphInstantiateWithFlags(ret, graph, flags));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *ret, cudaGraph_t graph,
					  unsigned long long flags)
{
	return cudaGraphInstantiate(ret, graph, flags);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	RUNTIME_ENTER;
	return result(driver.cuGraphExecDestroy(exec));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	RUNTIME_ENTER;
	return result(driver.cuGraphDestroy(graph));
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count)
{
	RUNTIME_ENTER;
	return result(driver.cuGraphGetNodes(graph, nodes, count));
}

cudaError_t cudaGetSymbolAddress(void **ret, const void *symbol)
{
	CUdeviceptr at = 0;
	cudaError_t error = symbol_of(symbol, &at, NULL);

	if (error == cudaSuccess)
		*ret = (void *)at;
	return runtime_leave(error);
}

cudaError_t cudaGetSymbolSize(size_t *ret, const void *symbol)
{
	CUdeviceptr at;

	return runtime_leave(symbol_of(symbol, &at, ret));
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret, const void *function)
{
	CUkernel kernel;
	cudaError_t error = ret != NULL ? kernel_of(function, &kernel) : cudaErrorInvalidValue;

	if (error != cudaSuccess)
		return runtime_leave(error);
	memset(ret, 0, sizeof(*ret));
	driver.cuFuncGetAttribute(&ret->maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
				  (CUfunction)kernel);
	driver.cuFuncGetAttribute(&ret->numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS, (CUfunction)kernel);
	driver.cuFuncGetAttribute(&ret->ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION,
				  (CUfunction)kernel);
	return result(driver.cuFuncGetAttribute(
		&ret->binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION, (CUfunction)kernel));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret, const void *function,
								   int block, size_t shared,
								   unsigned flags)
{
	CUkernel kernel;
	cudaError_t error = kernel_of(function, &kernel);

	if (error != cudaSuccess)
		return runtime_leave(error);
	return result(driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		ret, (CUfunction)kernel, block, shared, flags));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret, const void *function, int block,
							  size_t shared)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret, function, block, shared,
								      0);
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
	CUkernel kernel;

	(void)config;
	return runtime_leave(kernel_of(function, &kernel));
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
	CUkernel kernel;
	cudaError_t error = kernel_of(function, &kernel);

	if (error != cudaSuccess)
		return runtime_leave(error);
	return result(driver.cuFuncSetAttribute((CUfunction)kernel, (CUfunction_attribute)attribute,
						value));
}

#pragma GCC visibility pop
