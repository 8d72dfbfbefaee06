/*
 * bridge.c - translates the arguments of driver calls for the engine.
 *
 * The default-stream and the per-thread flavor of a function both come here; the rows of
 * entry_*.def determine the stream.
 */
#include "bridge.h"

static CUresult run(struct stream *s, struct xfer *x, bool async)
{
	CUresult rc = s->capture == NULL ? stream_may_push(s) : CUDA_SUCCESS;

	return rc != CUDA_SUCCESS ? rc : copy_start(x, s, async);
}

CUresult on_linear(struct stream *s, CUmemorytype dst_type, uintptr_t dst, CUmemorytype src_type,
		   uintptr_t src, size_t bytes, bool async)
{
	struct xfer x;

	copy_linear(&x, dst_type, dst, src_type, src, bytes);
	return run(s, &x, async);
}

CUresult on_3d(struct stream *s, const CUDA_MEMCPY3D *c, bool async)
{
	struct xfer x;
	CUresult rc;

	if (c == NULL || c->reserved0 != NULL || c->reserved1 != NULL)
		return CUDA_ERROR_INVALID_VALUE;
	rc = copy_from_3d(&x, c);
	return rc != CUDA_SUCCESS ? rc : run(s, &x, async);
}

CUresult on_2d(struct stream *s, const CUDA_MEMCPY2D *c, bool async)
{
	CUDA_MEMCPY3D wide;

	if (c == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	wide = (CUDA_MEMCPY3D){ .srcXInBytes = c->srcXInBytes,
				.srcY = c->srcY,
				.srcMemoryType = c->srcMemoryType,
				.srcHost = c->srcHost,
				.srcDevice = c->srcDevice,
				.srcArray = c->srcArray,
				.srcPitch = c->srcPitch,
				.dstXInBytes = c->dstXInBytes,
				.dstY = c->dstY,
				.dstMemoryType = c->dstMemoryType,
				.dstHost = c->dstHost,
				.dstDevice = c->dstDevice,
				.dstArray = c->dstArray,
				.dstPitch = c->dstPitch,
				.WidthInBytes = c->WidthInBytes,
				.Height = c->Height,
				.Depth = 1 };
	return on_3d(s, &wide, async);
}

CUresult on_3d_peer(struct stream *s, const CUDA_MEMCPY3D_PEER *c, bool async)
{
	CUDA_MEMCPY3D plain;

	if (c == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	/* The two structs differ only in the contexts, which replace the reserved fields. */
	_Static_assert(sizeof(plain) == sizeof(*c), "peer struct");
	__builtin_memcpy(&plain, c, sizeof(plain));
	plain.reserved0 = NULL;
	plain.reserved1 = NULL;
	return on_3d(s, &plain, async);
}

static CUresult array_offset(CUarray handle, uintptr_t *offset, size_t bytes)
{
	const struct array *array = array_get(handle);

	if (array == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	if (*offset > array->block->bytes || bytes > array->block->bytes - *offset)
		return CUDA_ERROR_INVALID_VALUE;
	*offset += array->block->base;
	return CUDA_SUCCESS;
}

CUresult on_array(struct stream *s, CUarray dst_array, uintptr_t dst, CUarray src_array,
		  uintptr_t src, CUmemorytype linear, size_t bytes, bool async)
{
	CUmemorytype dst_type = dst_array != NULL ? CU_MEMORYTYPE_DEVICE : linear;
	CUmemorytype src_type = src_array != NULL ? CU_MEMORYTYPE_DEVICE : linear;
	CUresult rc = CUDA_SUCCESS;

	if (dst_array != NULL)
		rc = array_offset(dst_array, &dst, bytes);
	if (rc == CUDA_SUCCESS && src_array != NULL)
		rc = array_offset(src_array, &src, bytes);
	if (rc != CUDA_SUCCESS)
		return rc;
	return on_linear(s, dst_type, dst, src_type, src, bytes, async);
}

CUresult on_batch(CUstream handle, bool per_thread, CUdeviceptr *dsts, CUdeviceptr *srcs,
		  size_t *sizes, size_t count, CUmemcpyAttributes *attrs, size_t *indices,
		  size_t nattrs, size_t *fail)
{
	struct stream *s;
	CUresult rc = stream_get(handle, per_thread, &s);

	if (fail != NULL)
		*fail = SIZE_MAX;
	if (rc != CUDA_SUCCESS)
		return rc;
	/*
	 * cuda.h, cuMemcpyBatchAsync: hStream "must not be legacy NULL stream"; NULL was not taken
	 * for the thread's own stream, either.  Every copy has attributes, and the first index is
	 * 0.
	 */
	if (s->legacy || handle == NULL || dsts == NULL || srcs == NULL || sizes == NULL ||
	    count == 0 || attrs == NULL || indices == NULL || nattrs == 0 || nattrs > count ||
	    indices[0] != 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (sizes[i] == 0)
			return CUDA_ERROR_INVALID_VALUE;
	bool at_once = true;
	for (size_t i = 0; i < nattrs; i++)
		at_once = at_once &&
			  attrs[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
	for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++) {
		struct xfer x;

		copy_linear(&x, CU_MEMORYTYPE_UNIFIED, dsts[i], CU_MEMORYTYPE_UNIFIED, srcs[i],
			    sizes[i]);
		x.at_once = at_once;
		rc = run(s, &x, true);
		if (rc != CUDA_SUCCESS && fail != NULL)
			*fail = i;
	}
	return rc;
}

/* Returns the bytes of an element: of an array's, or 1 for linear memory. */
static size_t element_of(const CUmemcpy3DOperand *side)
{
	const struct array *array =
		side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY ? array_get(side->op.array.array) : NULL;

	return array != NULL ? array->pitch / (array->desc.Width != 0 ? array->desc.Width : 1) : 0;
}

/* cuda.h, cuMemcpy3DBatchAsync: lengths are in elements, and 0 if there are no gaps. */
static CUresult on_box(struct stream *s, const CUDA_MEMCPY3D_BATCH_OP *c)
{
	size_t element = element_of(&c->src) ?: element_of(&c->dst) ?: 1;
	CUDA_MEMCPY3D box = { .WidthInBytes = c->extent.width * element,
			      .Height = c->extent.height,
			      .Depth = c->extent.depth };

	if (box.WidthInBytes == 0 || box.Height == 0 || box.Depth == 0)
		return CUDA_ERROR_INVALID_VALUE;
#define END(end, side)                                                                    \
	if ((side)->type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {                               \
		box.end##MemoryType = CU_MEMORYTYPE_ARRAY;                                \
		box.end##Array = (side)->op.array.array;                                  \
		box.end##XInBytes = (side)->op.array.offset.x * element;                  \
		box.end##Y = (side)->op.array.offset.y;                                   \
		box.end##Z = (side)->op.array.offset.z;                                   \
	} else {                                                                          \
		box.end##MemoryType = CU_MEMORYTYPE_UNIFIED;                              \
		box.end##Device = (side)->op.ptr.ptr;                                     \
		box.end##Pitch = ((side)->op.ptr.rowLength ?: c->extent.width) * element; \
		box.end##Height = (side)->op.ptr.layerHeight ?: c->extent.height;         \
	}
	END(src, &c->src)
	END(dst, &c->dst)
#undef END
	return on_3d(s, &box, true);
}

CUresult on_batch_3d(CUstream handle, bool per_thread, size_t count,
		     const CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *fail)
{
	struct stream *s;
	CUresult rc = stream_get(handle, per_thread, &s);

	if (fail != NULL)
		*fail = SIZE_MAX;
	if (rc != CUDA_SUCCESS)
		return rc;
	if (s->legacy || handle == NULL || boxes == NULL || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count && rc == CUDA_SUCCESS; i++) {
		rc = on_box(s, &boxes[i]);
		if (rc != CUDA_SUCCESS && fail != NULL)
			*fail = i;
	}
	return rc;
}

CUresult on_fill(struct stream *s, struct fill fill, bool async)
{
	CUresult rc = s->capture == NULL ? stream_may_push(s) : CUDA_SUCCESS;

	return rc != CUDA_SUCCESS ? rc : fill_start(&fill, s, async);
}

/* Attributes may contain events, which are recorded around the kernel. */
CUresult on_launch_ex(struct stream *s, const CUlaunchConfig *c, const void *kernel, void **params,
		      void **extra)
{
	CUresult rc;

	if (c->numAttrs != 0 && c->attrs == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	rc = kernel_launch(kernel,
			   (const unsigned[6]){ c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX,
						c->blockDimY, c->blockDimZ },
			   s, params, extra);
	for (unsigned i = 0; i < c->numAttrs && rc == CUDA_SUCCESS; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];

		if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
			rc = event_record(a->value.programmaticEvent.event, s);
		if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
			rc = event_record(a->value.launchCompletionEvent.event, s);
	}
	return rc;
}

CUresult on_host(struct stream *s, CUstream handle, CUhostFn fn, CUstreamCallback callback,
		 void *data)
{
	struct work work = { .kind = fn != NULL ? W_HOST : W_CALLBACK };

	if (fn == NULL && callback == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	/* cuda.h, cuStreamAddCallback: it is not supported during a capture. */
	if (fn == NULL && s->capture != NULL)
		return capture_break_stream(s);
	work.host.fn = fn;
	work.host.callback = callback;
	work.host.stream = handle;
	work.host.data = data;
	return stream_push(s, &work, NULL);
}

CUresult on_alloc(struct stream *s, CUdeviceptr *ret, size_t bytes)
{
	struct work nop = { .kind = W_NOP };
	uintptr_t at = 0;
	CUresult rc = CUDA_SUCCESS;

	/* A captured allocation is a node; its memory is valid from now on. */
	if (s->capture != NULL)
		capture_pushes(s, &nop, &rc);
	else
		rc = stream_may_push(s) ?: capture_forbids();
	if (rc == CUDA_SUCCESS && ret == NULL)
		rc = CUDA_ERROR_INVALID_VALUE;
	/* Observed on an H200: 0 bytes are allocated successfully, at no device address. */
	if (rc == CUDA_SUCCESS && bytes != 0)
		rc = mem_alloc(&at, bytes, B_DEVICE, BLOCK_POOLED);
	if (rc == CUDA_SUCCESS)
		*ret = at;
	return rc;
}

CUresult on_free(struct stream *s, CUdeviceptr at)
{
	const struct block *block = block_find(at);
	struct work work = { .kind = W_FREE, .free = at };

	if (block == NULL || block->base != at || block->kind != B_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return s->capture != NULL ? capture_break_stream(s) : stream_push(s, &work, NULL);
}

/*
 * Checks that the stream can be queried: neither it nor a stream that it is ordered with is
 * captured.
 */
static CUresult askable(struct stream *s)
{
	return capture_break_stream(s) ?: stream_may_push(s) ?: capture_forbids();
}

CUresult on_query(struct stream *s)
{
	CUresult rc = askable(s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (!stream_idle(s))
		return CUDA_ERROR_NOT_READY;
	/* The legacy stream includes all blocking ones. */
	for (struct stream *o = s->ctx->streams; s->legacy && o != NULL; o = o->next)
		if (!(o->flags & CU_STREAM_NON_BLOCKING) && !stream_idle(o))
			return CUDA_ERROR_NOT_READY;
	return CUDA_SUCCESS;
}

CUresult on_synchronize(struct stream *s)
{
	struct ctx *ctx = s->ctx;
	CUresult rc = askable(s);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (s->legacy)
		stream_settle(s);
	else
		stream_drain(s);
	return ctx->sticky;
}

CUresult on_write(struct stream *s, CUdeviceptr at, unsigned value)
{
	struct work work = { .kind = W_FILL, .fill = { at, 4, 1, 1, value, 4 } };

	if (block_find(at) == NULL || at % 4 != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return stream_push(s, &work, NULL);
}

CUresult on_wait(struct stream *s, CUdeviceptr at, unsigned value, unsigned flags)
{
	struct work work = { .kind = W_WAIT_VALUE };

	if (block_find(at) == NULL || at % 4 != 0)
		return CUDA_ERROR_INVALID_VALUE;
	work.wait.at = at;
	work.wait.value = value;
	work.wait.flags = flags;
	return stream_push(s, &work, NULL);
}

CUresult on_prefetch(struct stream *s, CUdeviceptr at, size_t bytes)
{
	const struct block *block = block_find(at);
	struct work work = { .kind = W_NOP };

	if (bytes == 0 || (block == NULL && !engine.hmm) ||
	    (block != NULL && block->kind != B_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	return stream_push(s, &work, NULL);
}
