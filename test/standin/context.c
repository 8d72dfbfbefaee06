/*
 * context.c - contexts, the context stack of each thread, and what ends with a context.
 *
 * Context objects are never freed: threads may still hold a destroyed one on their stack, and get
 * CONTEXT_IS_DESTROYED.
 */
#include "engine.h"

#include <stdlib.h>

#define DEPTH 64

static struct ctx *all;
static struct ctx *primaries[8];
static __thread struct ctx *stack[DEPTH];
static __thread int depth;
static uint64_t ids;

struct ctx *ctx_current(void)
{
	return depth > 0 ? stack[depth - 1] : NULL;
}

struct ctx *ctx_get(CUcontext handle)
{
	return handle == NULL ? ctx_current() : handle_get(H_CTX, handle);
}

/*
 * cuda.h, CUDA_ERROR_CONTEXT_IS_DESTROYED: "the context current to the calling thread has been
 * destroyed using cuCtxDestroy, or is a primary context which has not yet been initialized".
 */
CUresult ctx_check(void)
{
	struct ctx *ctx = ctx_current();

	if (ctx == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ctx->live)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	return ctx->sticky;
}

static struct ctx *ctx_new(int dev, unsigned flags, unsigned version)
{
	struct ctx *ctx = calloc(1, sizeof(*ctx));

	if (ctx == NULL)
		return NULL;
	ctx->dev = dev;
	ctx->flags = flags;
	ctx->version = version;
	ctx->handle = handle_new(H_CTX, ctx);
	ctx->next = all;
	all = ctx;
	return ctx;
}

static bool start(struct ctx *ctx)
{
	ctx->id = ++ids;
	ctx->sticky = CUDA_SUCCESS;
	ctx->prints = false;
	ctx->live = true;
	ctx->legacy = stream_new(ctx, CU_STREAM_DEFAULT, NULL);
	if (ctx->legacy == NULL)
		return false;
	ctx->legacy->legacy = true;
	return true;
}

/* Ends a context: its work is completed first, as cuCtxDestroy does. */
static void stop(struct ctx *ctx)
{
	if (!ctx->live)
		return;
	capture_drop_ctx(ctx);
	ctx_drain(ctx);
	event_drop_ctx(ctx);
	mem_drop_ctx(ctx);
	while (ctx->streams != NULL)
		stream_free(ctx->streams);
	ctx->legacy = ctx->watch = NULL;
	ctx->live = false;
}

CUresult ctx_create(CUcontext *ret, unsigned flags, int dev, unsigned version)
{
	struct ctx *ctx;

	if (ret == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev < 0 || dev >= engine.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	if (depth == DEPTH)
		return CUDA_ERROR_INVALID_VALUE;
	ctx = ctx_new(dev, flags, version);
	if (ctx == NULL || !start(ctx))
		return CUDA_ERROR_OUT_OF_MEMORY;
	stack[depth++] = ctx;
	*ret = ctx->handle;
	return CUDA_SUCCESS;
}

/* cuda.h, cuGreenCtxCreate: "it will not be made current". */
CUresult ctx_create_green(CUgreenCtx *ret, int dev)
{
	CUresult rc = ctx_create((CUcontext *)ret, 0, dev, 3020);

	depth -= rc == CUDA_SUCCESS;
	return rc;
}

CUresult ctx_destroy(CUcontext handle)
{
	struct ctx *ctx = handle_get(H_CTX, handle);

	if (ctx == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	stop(ctx);
	handle_free(handle);
	/*
	 * cuda.h, cuCtxDestroy: "If ctx is current to the calling thread then ctx will also be
	 * popped"; on other threads it stays current and answers CONTEXT_IS_DESTROYED.
	 */
	if (ctx_current() == ctx)
		depth--;
	return CUDA_SUCCESS;
}

/* Keeps the context until its last reference is dropped. */
CUresult ctx_attach(CUcontext *ret, unsigned flags)
{
	struct ctx *ctx = ctx_current();

	if (ret == NULL || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (ctx->primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	ctx->attached++;
	*ret = ctx->handle;
	return CUDA_SUCCESS;
}

CUresult ctx_detach(CUcontext handle)
{
	struct ctx *ctx = handle_get(H_CTX, handle);

	if (ctx == NULL || ctx->primary || ctx != ctx_current())
		return CUDA_ERROR_INVALID_CONTEXT;
	if (ctx->attached == 0)
		return ctx_destroy(handle);
	ctx->attached--;
	return CUDA_SUCCESS;
}

CUresult ctx_push(CUcontext handle)
{
	struct ctx *ctx = handle_get(H_CTX, handle);

	if (ctx == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (depth == DEPTH)
		return CUDA_ERROR_INVALID_VALUE;
	stack[depth++] = ctx;
	return CUDA_SUCCESS;
}

CUresult ctx_pop(CUcontext *ret)
{
	if (depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth--;
	if (ret != NULL)
		*ret = stack[depth]->handle;
	return CUDA_SUCCESS;
}

/* Replaces the top of the stack; NULL pops it (cuda.h, cuCtxSetCurrent). */
CUresult ctx_set(CUcontext handle)
{
	struct ctx *ctx = handle_get(H_CTX, handle);

	if (handle == NULL) {
		depth -= depth > 0;
		return CUDA_SUCCESS;
	}
	if (ctx == NULL)
		return CUDA_ERROR_INVALID_CONTEXT;
	depth += depth == 0;
	stack[depth - 1] = ctx;
	return CUDA_SUCCESS;
}

struct ctx *ctx_primary(int dev)
{
	if (primaries[dev] == NULL) {
		primaries[dev] = ctx_new(dev, 0, 3020);
		if (primaries[dev] != NULL)
			primaries[dev]->primary = true;
	}
	return primaries[dev];
}

CUresult primary_retain(CUcontext *ret, int dev)
{
	struct ctx *ctx;

	if (ret == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev < 0 || dev >= engine.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = ctx_primary(dev);
	if (ctx == NULL || (!ctx->live && !start(ctx)))
		return CUDA_ERROR_OUT_OF_MEMORY;
	ctx->retains++;
	*ret = ctx->handle;
	return CUDA_SUCCESS;
}

CUresult primary_release(int dev)
{
	struct ctx *ctx;

	if (dev < 0 || dev >= engine.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = ctx_primary(dev);
	if (ctx == NULL || ctx->retains == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (--ctx->retains == 0)
		stop(ctx);
	return CUDA_SUCCESS;
}

CUresult primary_reset(int dev)
{
	struct ctx *ctx;

	if (dev < 0 || dev >= engine.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	ctx = ctx_primary(dev);
	if (ctx != NULL) {
		stop(ctx);
		ctx->retains = 0;
	}
	return CUDA_SUCCESS;
}

void ctx_drain(struct ctx *ctx)
{
	for (struct stream *s = ctx->streams; s != NULL;) {
		if (s->head == NULL) {
			s = s->next;
			continue;
		}
		/* The list may change while operations run. */
		stream_drain(s);
		s = ctx->streams;
	}
}

void device_drain(int dev)
{
	for (struct ctx *ctx = all; ctx != NULL; ctx = ctx->next)
		if (ctx->dev == dev && ctx->live)
			ctx_drain(ctx);
}
