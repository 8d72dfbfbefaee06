/*
 * copies_shaped.c - the exported 2D, 3D and batched copy functions.
 *
 * What they have in common: the host side is rows with gaps.  A block that holds all of it may be
 * pinned and read by the device directly; nothing is cut into pieces.
 */
#include "shim/copy.h"
#include "host/heap.h"
#include "host/pin.h"

/* One side of a shaped copy, whatever the driver's struct calls it. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, height; /* pitch and height 0: packed */
};

static const void *host_address(const struct side *side)
{
	if (side->type == CU_MEMORYTYPE_HOST)
		return side->host;
	if (side->type == CU_MEMORYTYPE_UNIFIED && heap_owns((const void *)side->device))
		return (const void *)side->device;
	return NULL;
}

static enum trace_direction direction_of(const void *from, const void *to)
{
	if (from != NULL)
		return to != NULL ? TRACE_H2H : TRACE_H2D;
	return to != NULL ? TRACE_D2H : TRACE_D2D;
}

/* Describes `width` bytes x `rows` x `slices` between two sides. */
static void describe(struct shim_copy *copy, const struct side *src, const struct side *dst,
		     size_t width, size_t rows, size_t slices)
{
	const void *from = host_address(src), *to = host_address(dst);
	/* Both hosts: the one that is ours matters, and if both are, either. */
	const struct side *side = from != NULL && (to == NULL || heap_owns(from)) ? src : dst;
	const char *base = side == src ? from : to;

	copy->rows = true;
	copy->bytes = width * rows * slices;
	copy->direction = direction_of(from, to);
	if (base == NULL || copy->bytes == 0)
		return;

	size_t pitch = side->pitch != 0 ? side->pitch : width;
	size_t height = side->height != 0 ? side->height : rows;
	copy->host = base + side->x + (side->y + side->z * height) * pitch;
	copy->extent = ((slices - 1) * height + rows - 1) * pitch + width;
}

static void describe_2d(struct shim_copy *copy, const CUDA_MEMCPY2D *box)
{
	struct side src = { .type = box->srcMemoryType,
			    .host = box->srcHost,
			    .device = box->srcDevice,
			    .x = box->srcXInBytes,
			    .y = box->srcY,
			    .pitch = box->srcPitch };
	struct side dst = { .type = box->dstMemoryType,
			    .host = box->dstHost,
			    .device = box->dstDevice,
			    .x = box->dstXInBytes,
			    .y = box->dstY,
			    .pitch = box->dstPitch };

	describe(copy, &src, &dst, box->WidthInBytes, box->Height, 1);
}

/* CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER name these fields alike. */
#define DESCRIBE_3D(copy, box)                                                                \
	do {                                                                                  \
		struct side src = { .type = (box)->srcMemoryType,                             \
				    .host = (box)->srcHost,                                   \
				    .device = (box)->srcDevice,                               \
				    .x = (box)->srcXInBytes,                                  \
				    .y = (box)->srcY,                                         \
				    .z = (box)->srcZ,                                         \
				    .pitch = (box)->srcPitch,                                 \
				    .height = (box)->srcHeight };                             \
		struct side dst = { .type = (box)->dstMemoryType,                             \
				    .host = (box)->dstHost,                                   \
				    .device = (box)->dstDevice,                               \
				    .x = (box)->dstXInBytes,                                  \
				    .y = (box)->dstY,                                         \
				    .z = (box)->dstZ,                                         \
				    .pitch = (box)->dstPitch,                                 \
				    .height = (box)->dstHeight };                             \
		describe(copy, &src, &dst, (box)->WidthInBytes, (box)->Height, (box)->Depth); \
	} while (0)

#define SHAPED(name, type, own, describe_box)                  \
	HP_EXPORT CUresult name(const type *box)               \
	{                                                      \
		struct shim_copy copy = { .per_thread = own }; \
                                                               \
		if (box != NULL)                               \
			describe_box(&copy, box);              \
		SHIM_COPY_RUN(name, (box));                    \
	}
#define SHAPED_ASYNC(name, type, own, describe_box)               \
	HP_EXPORT CUresult name(const type *box, CUstream stream) \
	{                                                         \
		struct shim_copy copy = { .asynchronous = true,   \
					  .per_thread = own,      \
					  .stream = stream };     \
                                                                  \
		if (box != NULL)                                  \
			describe_box(&copy, box);                 \
		SHIM_COPY_RUN(name, (box, stream));               \
	}

SHAPED(cuMemcpy2D_v2, CUDA_MEMCPY2D, false, describe_2d)
SHAPED(cuMemcpy2D_v2_ptds, CUDA_MEMCPY2D, true, describe_2d)
SHAPED(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, false, describe_2d)
SHAPED(cuMemcpy2DUnaligned_v2_ptds, CUDA_MEMCPY2D, true, describe_2d)
SHAPED_ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, false, describe_2d)
SHAPED_ASYNC(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D, true, describe_2d)
SHAPED(cuMemcpy3D_v2, CUDA_MEMCPY3D, false, DESCRIBE_3D)
SHAPED(cuMemcpy3D_v2_ptds, CUDA_MEMCPY3D, true, DESCRIBE_3D)
SHAPED_ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, false, DESCRIBE_3D)
SHAPED_ASYNC(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D, true, DESCRIBE_3D)
SHAPED(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, false, DESCRIBE_3D)
SHAPED(cuMemcpy3DPeer_ptds, CUDA_MEMCPY3D_PEER, true, DESCRIBE_3D)
SHAPED_ASYNC(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, false, DESCRIBE_3D)
SHAPED_ASYNC(cuMemcpy3DPeerAsync_ptsz, CUDA_MEMCPY3D_PEER, true, DESCRIBE_3D)
#undef SHAPED
#undef SHAPED_ASYNC
#undef DESCRIBE_3D

/*
 * Batches: each copy of one is looked at before the call, reported after it.  What touches a pinned
 * block is waited for as a whole, or unpinned where the batch goes into a graph.
 */
struct batch {
	bool per_thread, captured, pinned;
	CUstream stream;
};

static struct batch batch_begin(CUstream stream, bool per_thread)
{
	return (struct batch){
		.per_thread = per_thread,
		.captured = shim_active() && atomic_load(&shim_captures) > 0 &&
			    shim_stream_captures(stream, per_thread),
		.stream = stream,
	};
}

static void batch_look(struct batch *batch, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	if (batch->captured) {
		shim_unpin((const void *)src, bytes);
		shim_unpin((const void *)dst, bytes);
	} else {
		batch->pinned |= pin_covers_any((const void *)src, bytes) ||
				 pin_covers_any((const void *)dst, bytes);
	}
}

static void batch_report(const struct batch *batch, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	struct shim_copy copy = { .bytes = bytes };
	bool promoted = pin_covers_any((const void *)src, bytes) ||
			pin_covers_any((const void *)dst, bytes);

	shim_copy_between(&copy, dst, src);
	trace_copied(&(struct trace_copy){
		.direction = copy.direction,
		.memory = promoted ? TRACE_PROMOTED : TRACE_UNKNOWN,
		.captured = batch->captured,
		.bytes = bytes,
	});
}

static CUresult batch_end(const struct batch *batch, CUresult result)
{
	return batch->pinned && result == CUDA_SUCCESS
		       ? shim_stream_wait(batch->stream, batch->per_thread)
		       : result;
}

/* Runs `step` for every copy of a linear batch. */
#define EACH(step)                                                                          \
	for (size_t i = 0; dsts != NULL && srcs != NULL && sizes != NULL && i < count; i++) \
	step(&batch, dsts[i], srcs[i], sizes[i])

/* CUDA 13 dropped the index of the copy that failed. */
#define BATCH_BODY(name, own, call)                            \
	{                                                      \
		shim_enter(REAL_ROW_##name);                   \
		if (!shim_active())                            \
			return REAL(name) call;                \
		struct batch batch = batch_begin(stream, own); \
		EACH(batch_look);                              \
		CUresult result = REAL(name) call;             \
		if (result == CUDA_SUCCESS && trace_active())  \
			EACH(batch_report);                    \
		return batch_end(&batch, result);              \
	}
#define BATCH(name, own)                                                                           \
	HP_EXPORT CUresult name(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, \
				CUmemcpyAttributes *attributes, size_t *indices, size_t kinds,     \
				size_t *failed, CUstream stream)                                   \
		BATCH_BODY(name, own,                                                              \
			   (dsts, srcs, sizes, count, attributes, indices, kinds, failed, stream))
#define BATCH_V2(name, own)                                                                        \
	HP_EXPORT CUresult name(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count, \
				CUmemcpyAttributes *attributes, size_t *indices, size_t kinds,     \
				CUstream stream)                                                   \
		BATCH_BODY(name, own,                                                              \
			   (dsts, srcs, sizes, count, attributes, indices, kinds, stream))
BATCH(cuMemcpyBatchAsync, false)
BATCH(cuMemcpyBatchAsync_ptsz, true)
BATCH_V2(cuMemcpyBatchAsync_v2, false)
BATCH_V2(cuMemcpyBatchAsync_v2_ptsz, true)
#undef EACH
#undef BATCH
#undef BATCH_V2

static CUdeviceptr operand(const CUmemcpy3DOperand *side)
{
	return side->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? side->op.ptr.ptr : 0;
}

static size_t box_bytes(const CUextent3D *extent)
{
	return extent->width * extent->height * extent->depth;
}

#define EACH(step)                                          \
	for (size_t i = 0; boxes != NULL && i < count; i++) \
	step(&batch, operand(&boxes[i].dst), operand(&boxes[i].src), box_bytes(&boxes[i].extent))
#define BATCH(name, own)                                                                     \
	HP_EXPORT CUresult name(size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes, size_t *failed, \
				unsigned long long flags, CUstream stream)                   \
		BATCH_BODY(name, own, (count, boxes, failed, flags, stream))
#define BATCH_V2(name, own)                                                  \
	HP_EXPORT CUresult name(size_t count, CUDA_MEMCPY3D_BATCH_OP *boxes, \
				unsigned long long flags, CUstream stream)   \
		BATCH_BODY(name, own, (count, boxes, flags, stream))
BATCH(cuMemcpy3DBatchAsync, false)
BATCH(cuMemcpy3DBatchAsync_ptsz, true)
BATCH_V2(cuMemcpy3DBatchAsync_v2, false)
BATCH_V2(cuMemcpy3DBatchAsync_v2_ptsz, true)
#undef EACH
#undef BATCH
#undef BATCH_V2
#undef BATCH_BODY
