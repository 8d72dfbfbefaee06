/*
 * libcuda_stream.c - the exported stream, launch and capture functions in both flavours, and the
 * events and graphs that have one.
 */
#include "bridge.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

/* For the log; the lock is not needed, the program holds the kernel. */
static const char *kernel_label(CUfunction f)
{
	const struct kernel *kernel = kernel_get(f);

	return kernel != NULL ? kernel->name : "kernel?";
}

#define PT       false
#define SZ(name) name
#include "flavour_stream.h"
#undef PT
#undef SZ

#define PT       true
#define SZ(name) name##_ptsz
#include "flavour_stream.h"

CUresult cuStreamCreate(CUstream *ret, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%u", flags)
		       ?: call_end(stream_create(ret, flags, 0));
}

CUresult cuStreamCreateWithPriority(CUstream *ret, unsigned flags, int priority)
{
	return call_begin(__func__, NEED_CTX, "%u %i", flags, priority)
		       ?: call_end(stream_create(ret, flags,
						 priority < -5  ? -5
						 : priority > 0 ? 0
								: priority));
}

CUresult cuStreamDestroy(CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%S", s) ?: call_end(stream_destroy(s));
}

CUresult cuStreamDestroy_v2(CUstream s)
{
	return call_begin(__func__, NEED_CTX, "%S", s) ?: call_end(stream_destroy(s));
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(capture_exchange(mode));
}

CUresult cuEventCreate(CUevent *ret, unsigned flags)
{
	return call_begin(__func__, NEED_CTX, "%u", flags) ?: call_end(event_create(ret, flags));
}

CUresult cuEventDestroy(CUevent event)
{
	return call_begin(__func__, NEED_CTX, "%E", event) ?: call_end(event_destroy(event));
}

CUresult cuEventDestroy_v2(CUevent event)
{
	return call_begin(__func__, NEED_CTX, "%E", event) ?: call_end(event_destroy(event));
}

static CUresult record_all(CUcontext handle, CUevent event)
{
	struct ctx *ctx = ctx_get(handle);

	return ctx != NULL && ctx->live ? event_record_all(event, ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxRecordEvent(CUcontext context, CUevent event)
{
	return call_begin(__func__, NEED_INIT, "%E", event) ?: call_end(record_all(context, event));
}

CUresult cuEventQuery(CUevent event)
{
	return call_begin(__func__, NEED_CTX, "%E", event) ?: call_end(event_query(event));
}

CUresult cuEventSynchronize(CUevent event)
{
	return call_begin(__func__, NEED_CTX, "%E", event) ?: call_end(event_sync(event));
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	return call_begin(__func__, NEED_CTX, "%E %E", start, end)
		       ?: call_end(event_elapsed(ms, start, end));
}

CUresult cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
	return call_begin(__func__, NEED_CTX, "%E %E", start, end)
		       ?: call_end(event_elapsed(ms, start, end));
}

CUresult cuGraphCreate(CUgraph *ret, unsigned flags)
{
	CUresult rc = call_begin(__func__, NEED_INIT, "%u", flags);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (ret == NULL || flags != 0)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = graph_handle(graph_new());
	return call_end(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph graph)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(graph_destroy(graph));
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *ret, CUgraph graph, unsigned long long flags)
{
	return call_begin(__func__, NEED_INIT, "%z", (size_t)flags)
		       ?: call_end(graph_instantiate(ret, graph, flags));
}

CUresult cuGraphInstantiate(CUgraphExec *ret, CUgraph graph, CUgraphNode *bad, char *text, size_t n)
{
	return call_begin(__func__, NEED_INIT, "%p %p %z", bad, text, n)
		       ?: call_end(graph_instantiate(ret, graph, 0));
}

CUresult cuGraphInstantiate_v2(CUgraphExec *ret, CUgraph graph, CUgraphNode *bad, char *text,
			       size_t n)
{
	return call_begin(__func__, NEED_INIT, "%p %p %z", bad, text, n)
		       ?: call_end(graph_instantiate(ret, graph, 0));
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t *flags)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(graph_exec_flags(exec, flags));
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(graph_exec_destroy(exec));
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return call_begin(__func__, NEED_INIT, "")
		       ?: call_end(graph_nodes(graph, nodes, count, false));
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *count)
{
	return call_begin(__func__, NEED_INIT, "")
		       ?: call_end(graph_nodes(graph, nodes, count, true));
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType *type)
{
	return call_begin(__func__, NEED_INIT, "") ?: call_end(graph_node_type(node, type));
}

CUresult cuGraphAddEmptyNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n)
{
	struct work work = { .kind = W_NOP };

	return call_begin(__func__, NEED_INIT, "%z", n)
		       ?: call_end(graph_add_node(ret, graph, deps, n, &work));
}

CUresult cuGraphAddMemcpyNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
			      const CUDA_MEMCPY3D *c, CUcontext ctx)
{
	struct work work = { .kind = W_COPY };
	CUresult rc = call_begin(__func__, NEED_INIT, "%z %p", n, ctx);

	if (rc != CUDA_SUCCESS)
		return rc;
	rc = c != NULL ? copy_from_3d(&work.copy, c) : CUDA_ERROR_INVALID_VALUE;
	if (rc == CUDA_SUCCESS)
		rc = copy_resolve(&work.copy);
	return call_end(rc != CUDA_SUCCESS ? rc : graph_add_node(ret, graph, deps, n, &work));
}

CUresult cuGraphAddMemsetNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
			      const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
	struct work work = { .kind = W_FILL };
	CUresult rc = call_begin(__func__, NEED_INIT, "%z %p", n, ctx);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (p == NULL || block_find(p->dst) == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	work.fill =
		(struct fill){ p->dst, p->pitch, p->width, p->height, p->value, p->elementSize };
	return call_end(graph_add_node(ret, graph, deps, n, &work));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
				 const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work work = { .kind = W_KERNEL };
	CUresult rc = call_begin(__func__, NEED_INIT, "%z", n);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (p == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	rc = kernel_prepare(&work.launch, p->func != NULL ? (void *)p->func : (void *)p->kern,
			    (const unsigned[6]){ p->gridDimX, p->gridDimY, p->gridDimZ,
						 p->blockDimX, p->blockDimY, p->blockDimZ },
			    p->kernelParams, p->extra);
	return call_end(rc != CUDA_SUCCESS ? rc : graph_add_node(ret, graph, deps, n, &work));
}

CUresult cuGraphAddHostNode(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
			    const CUDA_HOST_NODE_PARAMS *p)
{
	struct work work = { .kind = W_HOST };
	CUresult rc = call_begin(__func__, NEED_INIT, "%z", n);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (p == NULL || p->fn == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	work.host.fn = p->fn;
	work.host.data = p->userData;
	return call_end(graph_add_node(ret, graph, deps, n, &work));
}

#pragma GCC visibility pop
