/*
 * libcuda_stream.c - the exported functions of streams, events, launches, captures and graphs.
 */
#include "bridge.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

/* For the log.  The lock is unnecessary, because the program holds the kernel. */
static const char *kernel_label(CUfunction f)
{
	const struct kernel *kernel = kernel_get(f);

	return kernel != NULL ? kernel->name : "kernel?";
}

static CUresult wait_event(struct stream *s, CUevent event, unsigned flags)
{
	if ((flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return event_wait(s, event);
}

static CUresult record_all(CUcontext handle, CUevent event)
{
	struct ctx *ctx = ctx_get(handle);

	return ctx != NULL && ctx->live ? event_record_all(event, ctx) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult add_copy(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
			 const CUDA_MEMCPY3D *c)
{
	struct work work = { .kind = W_COPY };
	CUresult rc = c != NULL ? copy_from_3d(&work.copy, c) : CUDA_ERROR_INVALID_VALUE;

	if (rc == CUDA_SUCCESS)
		rc = copy_resolve(&work.copy);
	return rc != CUDA_SUCCESS ? rc : graph_add_node(ret, graph, deps, n, &work);
}

static CUresult add_fill(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
			 const CUDA_MEMSET_NODE_PARAMS *p)
{
	struct work work = { .kind = W_FILL };

	if (p == NULL || block_find(p->dst) == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	work.fill =
		(struct fill){ p->dst, p->pitch, p->width, p->height, p->value, p->elementSize };
	return graph_add_node(ret, graph, deps, n, &work);
}

static CUresult add_kernel(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
			   const CUDA_KERNEL_NODE_PARAMS *p)
{
	struct work work = { .kind = W_KERNEL };
	CUresult rc;

	if (p == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	rc = kernel_prepare(&work.launch, p->func != NULL ? (void *)p->func : (void *)p->kern,
			    (const unsigned[6]){ p->gridDimX, p->gridDimY, p->gridDimZ,
						 p->blockDimX, p->blockDimY, p->blockDimZ },
			    p->kernelParams, p->extra);
	return rc != CUDA_SUCCESS ? rc : graph_add_node(ret, graph, deps, n, &work);
}

static CUresult add_host(CUgraphNode *ret, CUgraph graph, const CUgraphNode *deps, size_t n,
			 const CUDA_HOST_NODE_PARAMS *p)
{
	struct work work = { .kind = W_HOST };

	if (p == NULL || p->fn == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	work.host.fn = p->fn;
	work.host.data = p->userData;
	return graph_add_node(ret, graph, deps, n, &work);
}

#include "entry_stream.def"

#pragma GCC visibility pop
