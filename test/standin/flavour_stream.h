/*
 * The stream, launch and graph functions of libcuda, once per flavour: included with PT and SZ()
 * set to what stream NULL means and how the name ends (libcuda_stream.c).  Not a header to include
 * elsewhere, hence no guard.
 */

CUresult SZ(cuStreamGetPriority)(CUstream s, int *ret)
{
	struct stream copy;
	CUresult rc = call_begin(__func__, NEED_CTX, "%S", s);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret != NULL ? on_stream(s, PT, &copy) : CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*ret = copy.priority;
	return call_end(rc);
}

CUresult SZ(cuStreamGetDevice)(CUstream s, CUdevice *ret)
{
	struct stream copy;
	CUresult rc = call_begin(__func__, NEED_CTX, "%S", s);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret != NULL ? on_stream(s, PT, &copy) : CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*ret = copy.ctx->dev;
	return call_end(rc);
}

CUresult SZ(cuStreamGetFlags)(CUstream s, unsigned *ret)
{
	struct stream copy;
	CUresult rc = call_begin(__func__, NEED_CTX, "%S", s);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret != NULL ? on_stream(s, PT, &copy) : CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*ret = copy.flags;
	return call_end(rc);
}

CUresult SZ(cuStreamGetId)(CUstream s, unsigned long long *ret)
{
	struct stream copy;
	CUresult rc = call_begin(__func__, NEED_CTX, "%S", s);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret != NULL ? on_stream(s, PT, &copy) : CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*ret = copy.id;
	return call_end(rc);
}

CUresult SZ(cuStreamGetCtx)(CUstream s, CUcontext *ret)
{
	struct stream copy;
	CUresult rc = call_begin(__func__, NEED_CTX, "%S", s);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret != NULL ? on_stream(s, PT, &copy) : CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*ret = copy.ctx->handle;
	return call_end(rc);
}

CUresult SZ(cuStreamGetCtx_v2)(CUstream s, CUcontext *ret, CUgreenCtx *green)
{
	struct stream copy;
	CUresult rc = call_begin(__func__, NEED_CTX, "%S", s);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = ret != NULL ? on_stream(s, PT, &copy) : CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		*ret = copy.ctx->handle;
	if (rc == CUDA_SUCCESS && green != NULL)
		*green = NULL;
	return call_end(rc);
}

CUresult SZ(cuStreamQuery)(CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%S", s) ?: call_end(on_query(s, PT));
}

CUresult SZ(cuStreamSynchronize)(CUstream s)
{
	return call_begin(__func__, NEED_INIT, "%S", s) ?: call_end(on_synchronize(s, PT));
}

CUresult SZ(cuStreamWaitEvent)(CUstream s, CUevent event, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %E", s, event)
		       ?: call_end(on_wait_event(s, PT, event, flags));
}

CUresult SZ(cuEventRecord)(CUevent event, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%E %S", event, s)
		       ?: call_end(on_record(event, s, PT, 0));
}

CUresult SZ(cuEventRecordWithFlags)(CUevent event, CUstream s, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%E %S %u", event, s, flags)
		       ?: call_end(on_record(event, s, PT, flags));
}

CUresult SZ(cuStreamAddCallback)(CUstream s, CUstreamCallback callback, void *data, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S", s)
		       ?: call_end(flags != 0 ? CUDA_ERROR_INVALID_VALUE
					      : on_host(s, PT, NULL, callback, data));
}

CUresult SZ(cuLaunchHostFunc)(CUstream s, CUhostFn fn, void *data)
{
	return call_begin(__func__, NEED_CTX, "%S", s) ?: call_end(on_host(s, PT, fn, NULL, data));
}

CUresult SZ(cuStreamAttachMemAsync)(CUstream s, CUdeviceptr at, size_t n, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %z %u", s, at, n, flags)
		       ?: call_end(on_prefetch(at, n == 0 ? 1 : n, s, PT));
}

CUresult SZ(cuLaunchKernel)(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
			    unsigned by, unsigned bz, unsigned shared, CUstream s, void **params,
			    void **extra)
{
	const unsigned dim[6] = { gx, gy, gz, bx, by, bz };

	return call_begin(__func__, NEED_CTX, "%s (%u,%u,%u) (%u,%u,%u) %u %S", kernel_label(f), gx,
			  gy, gz, bx, by, bz, shared, s)
		       ?: call_end(on_launch(f, dim, s, PT, params, extra));
}

CUresult SZ(cuLaunchCooperativeKernel)(CUfunction f, unsigned gx, unsigned gy, unsigned gz,
				       unsigned bx, unsigned by, unsigned bz, unsigned shared,
				       CUstream s, void **params)
{
	const unsigned dim[6] = { gx, gy, gz, bx, by, bz };

	return call_begin(__func__, NEED_CTX, "%s (%u,%u,%u) (%u,%u,%u) %u %S", kernel_label(f), gx,
			  gy, gz, bx, by, bz, shared, s)
		       ?: call_end(on_launch(f, dim, s, PT, params, NULL));
}

CUresult SZ(cuLaunchKernelEx)(const CUlaunchConfig *c, CUfunction f, void **params, void **extra)
{
	return call_begin(__func__, NEED_CTX, "%s %S", kernel_label(f),
			  c != NULL ? c->hStream : NULL)
		       ?: call_end(on_launch_ex(c, f, PT, params, extra));
}

CUresult SZ(cuMemAllocAsync)(CUdeviceptr *ret, size_t n, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%z %S", n, s) ?: call_end(on_alloc(ret, n, s, PT));
}

CUresult SZ(cuMemFreeAsync)(CUdeviceptr at, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %S", at, s) ?: call_end(on_free(at, s, PT));
}

CUresult SZ(cuMemPrefetchAsync)(CUdeviceptr at, size_t n, CUdevice dev, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %z %i %S", at, n, dev, s)
		       ?: call_end(on_prefetch(at, n, s, PT));
}

CUresult SZ(cuMemPrefetchAsync_v2)(CUdeviceptr at, size_t n, CUmemLocation where, unsigned flags,
				   CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%D %z %i %S", at, n, where.id, s)
		       ?: call_end(flags != 0 ? CUDA_ERROR_INVALID_VALUE
					      : on_prefetch(at, n, s, PT));
}

CUresult SZ(cuStreamWriteValue32)(CUstream s, CUdeviceptr at, cuuint32_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %u %u", s, at, v, flags)
		       ?: call_end(on_write(s, PT, at, v, 4));
}

CUresult SZ(cuStreamWriteValue32_v2)(CUstream s, CUdeviceptr at, cuuint32_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %u %u", s, at, v, flags)
		       ?: call_end(on_write(s, PT, at, v, 4));
}

CUresult SZ(cuStreamWriteValue64)(CUstream s, CUdeviceptr at, cuuint64_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %z %u", s, at, (size_t)v, flags)
		       ?: call_end(on_write(s, PT, at, v, 8));
}

CUresult SZ(cuStreamWriteValue64_v2)(CUstream s, CUdeviceptr at, cuuint64_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %z %u", s, at, (size_t)v, flags)
		       ?: call_end(on_write(s, PT, at, v, 8));
}

CUresult SZ(cuStreamWaitValue32)(CUstream s, CUdeviceptr at, cuuint32_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %u %u", s, at, v, flags)
		       ?: call_end(on_wait(s, PT, at, v, flags, 4));
}

CUresult SZ(cuStreamWaitValue32_v2)(CUstream s, CUdeviceptr at, cuuint32_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %u %u", s, at, v, flags)
		       ?: call_end(on_wait(s, PT, at, v, flags, 4));
}

CUresult SZ(cuStreamWaitValue64)(CUstream s, CUdeviceptr at, cuuint64_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %z %u", s, at, (size_t)v, flags)
		       ?: call_end(on_wait(s, PT, at, v, flags, 8));
}

CUresult SZ(cuStreamWaitValue64_v2)(CUstream s, CUdeviceptr at, cuuint64_t v, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %D %z %u", s, at, (size_t)v, flags)
		       ?: call_end(on_wait(s, PT, at, v, flags, 8));
}

CUresult SZ(cuStreamBeginCapture)(CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%S", s)
		       ?: call_end(on_capture_begin(s, PT, CU_STREAM_CAPTURE_MODE_GLOBAL, NULL,
						    NULL, 0));
}

CUresult SZ(cuStreamBeginCapture_v2)(CUstream s, CUstreamCaptureMode mode)
{
	return call_begin(__func__, NEED_CTX, "%S %u", s, (unsigned)mode)
		       ?: call_end(on_capture_begin(s, PT, mode, NULL, NULL, 0));
}

CUresult SZ(cuStreamBeginCaptureToGraph)(CUstream s, CUgraph graph, const CUgraphNode *deps,
					 const CUgraphEdgeData *edges, size_t ndeps,
					 CUstreamCaptureMode mode)
{
	return call_begin(__func__, NEED_CTX, "%S %p %z %u", s, edges, ndeps, (unsigned)mode)
		       ?: call_end(graph == NULL
					   ? CUDA_ERROR_INVALID_VALUE
					   : on_capture_begin(s, PT, mode, graph, deps, ndeps));
}

CUresult SZ(cuStreamEndCapture)(CUstream s, CUgraph *ret)
{
	return call_begin(__func__, NEED_CTX, "%S", s) ?: call_end(on_capture_end(s, PT, ret));
}

CUresult SZ(cuStreamIsCapturing)(CUstream s, CUstreamCaptureStatus *status)
{
	return call_begin(__func__, NEED_CTX, "%S", s)
		       ?: call_end(on_capture_info(s, PT, status, NULL, NULL, NULL, NULL));
}

CUresult SZ(cuStreamGetCaptureInfo)(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id)
{
	return call_begin(__func__, NEED_CTX, "%S", s)
		       ?: call_end(on_capture_info(s, PT, status, id, NULL, NULL, NULL));
}

CUresult SZ(cuStreamGetCaptureInfo_v2)(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id,
				       CUgraph *graph, const CUgraphNode **deps, size_t *ndeps)
{
	return call_begin(__func__, NEED_CTX, "%S", s)
		       ?: call_end(on_capture_info(s, PT, status, id, graph, deps, ndeps));
}

CUresult SZ(cuStreamGetCaptureInfo_v3)(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *id,
				       CUgraph *graph, const CUgraphNode **deps,
				       const CUgraphEdgeData **edges, size_t *ndeps)
{
	if (edges != NULL)
		*edges = NULL;
	return call_begin(__func__, NEED_CTX, "%S", s)
		       ?: call_end(on_capture_info(s, PT, status, id, graph, deps, ndeps));
}

CUresult SZ(cuStreamUpdateCaptureDependencies)(CUstream s, CUgraphNode *deps, size_t ndeps,
					       unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %z %u", s, ndeps, flags)
		       ?: call_end(on_capture_update(s, PT, deps, ndeps, flags));
}

CUresult SZ(cuStreamUpdateCaptureDependencies_v2)(CUstream s, CUgraphNode *deps,
						  const CUgraphEdgeData *edges, size_t ndeps,
						  unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%S %p %z %u", s, edges, ndeps, flags)
		       ?: call_end(on_capture_update(s, PT, deps, ndeps, flags));
}

CUresult SZ(cuGraphInstantiateWithParams)(CUgraphExec *ret, CUgraph graph,
					  CUDA_GRAPH_INSTANTIATE_PARAMS *params)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (params == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	rc = graph_instantiate(ret, graph, params->flags);
	params->hErrNode_out = NULL;
	params->result_out =
		rc == CUDA_SUCCESS ? CUDA_GRAPH_INSTANTIATE_SUCCESS : CUDA_GRAPH_INSTANTIATE_ERROR;
	return call_end(rc);
}

CUresult SZ(cuGraphUpload)(CUgraphExec exec, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%S", s)
		       ?: call_end(exec != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

CUresult SZ(cuGraphLaunch)(CUgraphExec exec, CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%S", s) ?: call_end(on_graph(exec, s, PT));
}
