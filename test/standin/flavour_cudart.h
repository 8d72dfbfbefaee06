/*
 * The runtime's functions that exist in two flavours: included with DS() and SZ() set to how the
 * names end, here and at the driver's (cudart_stream.c).  Not a header to include elsewhere, hence
 * no guard.
 */

cudaError_t DS(cudaMemcpy)(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
	CUDA_MEMCPY2D rows = host_rows(dst, src, n);
	cudaError_t error = runtime_enter();

	if (error != cudaSuccess || n == 0)
		return runtime_leave(error);
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return result(driver.DS(cuMemcpyHtoD_v2)(to, src, n));
	case cudaMemcpyDeviceToHost:
		return result(driver.DS(cuMemcpyDtoH_v2)(dst, from, n));
	case cudaMemcpyDeviceToDevice:
		return result(driver.DS(cuMemcpyDtoD_v2)(to, from, n));
	case cudaMemcpyHostToHost:
		return result(driver.DS(cuMemcpy2DUnaligned_v2)(&rows));
	case cudaMemcpyDefault:
		return result(driver.DS(cuMemcpy)(to, from, n));
	}
	return runtime_leave(cudaErrorInvalidMemcpyDirection);
}

cudaError_t SZ(cudaMemcpyAsync)(void *dst, const void *src, size_t n, enum cudaMemcpyKind kind,
				cudaStream_t s)
{
	CUdeviceptr to = (CUdeviceptr)dst, from = (CUdeviceptr)src;
	CUDA_MEMCPY2D rows = host_rows(dst, src, n);
	cudaError_t error = runtime_enter();

	if (error != cudaSuccess || n == 0)
		return runtime_leave(error);
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return result(driver.SZ(cuMemcpyHtoDAsync_v2)(to, src, n, s));
	case cudaMemcpyDeviceToHost:
		return result(driver.SZ(cuMemcpyDtoHAsync_v2)(dst, from, n, s));
	case cudaMemcpyDeviceToDevice:
		return result(driver.SZ(cuMemcpyDtoDAsync_v2)(to, from, n, s));
	case cudaMemcpyHostToHost:
		return result(driver.SZ(cuMemcpy2DAsync_v2)(&rows, s));
	case cudaMemcpyDefault:
		return result(driver.SZ(cuMemcpyAsync)(to, from, n, s));
	}
	return runtime_leave(cudaErrorInvalidMemcpyDirection);
}

cudaError_t DS(cudaMemcpy2D)(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			     size_t height, enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = rows_of(&c, dst, dpitch, src, spitch, width, height, kind);
	if (error != cudaSuccess || width == 0 || height == 0)
		return runtime_leave(error);
	return result(driver.DS(cuMemcpy2DUnaligned_v2)(&c));
}

cudaError_t SZ(cudaMemcpy2DAsync)(void *dst, size_t dpitch, const void *src, size_t spitch,
				  size_t width, size_t height, enum cudaMemcpyKind kind,
				  cudaStream_t s)
{
	CUDA_MEMCPY2D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = rows_of(&c, dst, dpitch, src, spitch, width, height, kind);
	if (error != cudaSuccess || width == 0 || height == 0)
		return runtime_leave(error);
	return result(driver.SZ(cuMemcpy2DAsync_v2)(&c, s));
}

cudaError_t DS(cudaMemcpy3D)(const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = box_of(&c, p);
	return error != cudaSuccess ? runtime_leave(error) : result(driver.DS(cuMemcpy3D_v2)(&c));
}

cudaError_t SZ(cudaMemcpy3DAsync)(const struct cudaMemcpy3DParms *p, cudaStream_t s)
{
	CUDA_MEMCPY3D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = box_of(&c, p);
	return error != cudaSuccess ? runtime_leave(error)
				    : result(driver.SZ(cuMemcpy3DAsync_v2)(&c, s));
}

cudaError_t DS(cudaMemcpy2DToArray)(cudaArray_t dst, size_t x, size_t y, const void *src,
				    size_t spitch, size_t width, size_t height,
				    enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = to_array(&c, dst, x, y, src, spitch, width, height, kind);
	return error != cudaSuccess ? runtime_leave(error) : result(driver.DS(cuMemcpy3D_v2)(&c));
}

cudaError_t DS(cudaMemcpy2DFromArray)(void *dst, size_t dpitch, cudaArray_const_t src, size_t x,
				      size_t y, size_t width, size_t height,
				      enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY3D c;
	cudaError_t error = runtime_enter();

	if (error == cudaSuccess)
		error = from_array(&c, dst, dpitch, src, x, y, width, height, kind);
	return error != cudaSuccess ? runtime_leave(error) : result(driver.DS(cuMemcpy3D_v2)(&c));
}

cudaError_t DS(cudaMemcpyToSymbol)(const void *symbol, const void *src, size_t n, size_t offset,
				   enum cudaMemcpyKind kind)
{
	CUdeviceptr at;
	cudaError_t error = place(symbol, n, offset, &at);

	return error != cudaSuccess ? runtime_leave(error)
				    : DS(cudaMemcpy)((void *)at, src, n, kind);
}

cudaError_t DS(cudaMemcpyFromSymbol)(void *dst, const void *symbol, size_t n, size_t offset,
				     enum cudaMemcpyKind kind)
{
	CUdeviceptr at;
	cudaError_t error = place(symbol, n, offset, &at);

	return error != cudaSuccess ? runtime_leave(error)
				    : DS(cudaMemcpy)(dst, (void *)at, n, kind);
}

cudaError_t SZ(cudaMemcpyToSymbolAsync)(const void *symbol, const void *src, size_t n,
					size_t offset, enum cudaMemcpyKind kind, cudaStream_t s)
{
	CUdeviceptr at;
	cudaError_t error = place(symbol, n, offset, &at);

	return error != cudaSuccess ? runtime_leave(error)
				    : SZ(cudaMemcpyAsync)((void *)at, src, n, kind, s);
}

cudaError_t SZ(cudaMemcpyFromSymbolAsync)(void *dst, const void *symbol, size_t n, size_t offset,
					  enum cudaMemcpyKind kind, cudaStream_t s)
{
	CUdeviceptr at;
	cudaError_t error = place(symbol, n, offset, &at);

	return error != cudaSuccess ? runtime_leave(error)
				    : SZ(cudaMemcpyAsync)(dst, (void *)at, n, kind, s);
}

cudaError_t DS(cudaMemset)(void *dst, int value, size_t n)
{
	RUNTIME_ENTER;
	if (n == 0)
		return cudaSuccess;
	return result(driver.DS(cuMemsetD8_v2)((CUdeviceptr)dst, (unsigned char)value, n));
}

cudaError_t SZ(cudaMemsetAsync)(void *dst, int value, size_t n, cudaStream_t s)
{
	RUNTIME_ENTER;
	if (n == 0)
		return cudaSuccess;
	return result(driver.SZ(cuMemsetD8Async)((CUdeviceptr)dst, (unsigned char)value, n, s));
}

cudaError_t DS(cudaMemset2D)(void *dst, size_t pitch, int value, size_t width, size_t height)
{
	RUNTIME_ENTER;
	return result(driver.DS(cuMemsetD2D8_v2)((CUdeviceptr)dst, pitch, (unsigned char)value,
						 width, height));
}

cudaError_t SZ(cudaMemset2DAsync)(void *dst, size_t pitch, int value, size_t width, size_t height,
				  cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuMemsetD2D8Async)((CUdeviceptr)dst, pitch, (unsigned char)value,
						   width, height, s));
}

cudaError_t SZ(cudaMallocAsync)(void **ret, size_t n, cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuMemAllocAsync)((CUdeviceptr *)ret, n, s));
}

cudaError_t SZ(cudaFreeAsync)(void *at, cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuMemFreeAsync)((CUdeviceptr)at, s));
}

cudaError_t SZ(cudaMemPrefetchAsync)(const void *at, size_t n, struct cudaMemLocation where,
				     unsigned flags, cudaStream_t s)
{
	CUmemLocation location = { .type = (CUmemLocationType)where.type, .id = where.id };

	RUNTIME_ENTER;
	return result(driver.SZ(cuMemPrefetchAsync_v2)((CUdeviceptr)at, n, location, flags, s));
}

cudaError_t SZ(cudaStreamQuery)(cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamQuery)(s));
}

cudaError_t SZ(cudaStreamSynchronize)(cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamSynchronize)(s));
}

cudaError_t SZ(cudaStreamWaitEvent)(cudaStream_t s, cudaEvent_t event, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamWaitEvent)(s, event, flags));
}

cudaError_t SZ(cudaStreamGetFlags)(cudaStream_t s, unsigned *ret)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamGetFlags)(s, ret));
}

cudaError_t SZ(cudaStreamGetPriority)(cudaStream_t s, int *ret)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamGetPriority)(s, ret));
}

cudaError_t SZ(cudaStreamGetId)(cudaStream_t s, unsigned long long *ret)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamGetId)(s, ret));
}

/* The two callback types differ only in the name of the error code's type. */
cudaError_t SZ(cudaStreamAddCallback)(cudaStream_t s, cudaStreamCallback_t callback, void *data,
				      unsigned flags)
{
	RUNTIME_ENTER;
	return result(
		driver.SZ(cuStreamAddCallback)(s, (CUstreamCallback)(void *)callback, data, flags));
}

cudaError_t SZ(cudaLaunchHostFunc)(cudaStream_t s, cudaHostFn_t fn, void *data)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuLaunchHostFunc)(s, fn, data));
}

cudaError_t SZ(cudaStreamBeginCapture)(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamBeginCapture_v2)(s, (CUstreamCaptureMode)mode));
}

cudaError_t SZ(cudaStreamEndCapture)(cudaStream_t s, cudaGraph_t *ret)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamEndCapture)(s, ret));
}

cudaError_t SZ(cudaStreamIsCapturing)(cudaStream_t s, enum cudaStreamCaptureStatus *ret)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuStreamIsCapturing)(s, (CUstreamCaptureStatus *)ret));
}

cudaError_t SZ(cudaEventRecord)(cudaEvent_t event, cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuEventRecord)(event, s));
}

cudaError_t SZ(cudaEventRecordWithFlags)(cudaEvent_t event, cudaStream_t s, unsigned flags)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuEventRecordWithFlags)(event, s, flags));
}

cudaError_t SZ(cudaGraphLaunch)(cudaGraphExec_t exec, cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuGraphLaunch)(exec, s));
}

cudaError_t SZ(__cudaLaunchKernel)(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
				   size_t shared, cudaStream_t s)
{
	RUNTIME_ENTER;
	return result(driver.SZ(cuLaunchKernel)((CUfunction)kernel, grid.x, grid.y, grid.z, block.x,
						block.y, block.z, (unsigned)shared, s, args, NULL));
}

cudaError_t SZ(cudaLaunchKernel)(const void *function, dim3 grid, dim3 block, void **args,
				 size_t shared, cudaStream_t s)
{
	CUkernel kernel;
	cudaError_t error = kernel_of(function, &kernel);

	return error != cudaSuccess
		       ? runtime_leave(error)
		       : SZ(__cudaLaunchKernel)((cudaKernel_t)kernel, grid, block, args, shared, s);
}

cudaError_t SZ(cudaLaunchCooperativeKernel)(const void *function, dim3 grid, dim3 block,
					    void **args, size_t shared, cudaStream_t s)
{
	CUkernel kernel;
	cudaError_t error = kernel_of(function, &kernel);

	if (error != cudaSuccess)
		return runtime_leave(error);
	return result(driver.SZ(cuLaunchCooperativeKernel)((CUfunction)kernel, grid.x, grid.y,
							   grid.z, block.x, block.y, block.z,
							   (unsigned)shared, s, args));
}

cudaError_t SZ(cudaLaunchKernelExC)(const cudaLaunchConfig_t *c, const void *function, void **args)
{
	CUkernel kernel;
	CUlaunchConfig config;
	cudaError_t error = c != NULL ? kernel_of(function, &kernel) : cudaErrorInvalidValue;

	if (error != cudaSuccess)
		return runtime_leave(error);
	config = (CUlaunchConfig){ .gridDimX = c->gridDim.x,
				   .gridDimY = c->gridDim.y,
				   .gridDimZ = c->gridDim.z,
				   .blockDimX = c->blockDim.x,
				   .blockDimY = c->blockDim.y,
				   .blockDimZ = c->blockDim.z,
				   .sharedMemBytes = (unsigned)c->dynamicSmemBytes,
				   .hStream = c->stream,
				   .attrs = (CUlaunchAttribute *)c->attrs,
				   .numAttrs = c->numAttrs };
	return result(driver.SZ(cuLaunchKernelEx)(&config, (CUfunction)kernel, args, NULL));
}
