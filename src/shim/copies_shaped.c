/*
 * copies_shaped.c - the exported 2D, 3D and batched copy functions.
 *
 * What they have in common: the host side is rows with gaps.  A block that holds all of it may be
 * pinned and read by the device directly; only the ring takes it in pieces.
 */
#include "shim/copy.h"
#include "base/clock.h"
#include "host/heap.h"
#include "host/pin.h"
#include "host/range.h"

/* One side of a shaped copy, whatever the driver's struct calls it. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, height; /* pitch and height 0: packed */
	bool special;                  /* fields are set whose meaning is the driver's business */
};

/* How far behind the side's address its first byte is. */
static size_t skipped(const struct side *side, size_t width, size_t rows)
{
	size_t pitch = side->pitch != 0 ? side->pitch : width;
	size_t height = side->height != 0 ? side->height : rows;

	return side->x + (side->y + side->z * height) * pitch;
}

/* The first byte of a side that is host memory, or may be and is ours; else NULL. */
static const char *first_byte(const struct side *side, size_t width, size_t rows)
{
	size_t skip = skipped(side, width, rows);

	if (side->type == CU_MEMORYTYPE_HOST)
		return side->host != NULL ? (const char *)side->host + skip : NULL;
	if (side->type == CU_MEMORYTYPE_UNIFIED && heap_owns((const char *)side->device + skip))
		return (const char *)side->device + skip;
	return NULL;
}

/* A block of ours as a device's memory: without us the driver would refuse that. */
static void refuse_promoted(const struct side *side)
{
	if (side->type == CU_MEMORYTYPE_DEVICE)
		shim_refuse_promoted(side->device);
}

static enum trace_direction direction_of(const void *from, const void *to)
{
	if (from != NULL)
		return to != NULL ? TRACE_H2H : TRACE_H2D;
	return to != NULL ? TRACE_D2H : TRACE_D2D;
}

#define PITCH_MOST ((size_t)INT32_MAX) /* CU_DEVICE_ATTRIBUTE_MAX_PITCH */

/* Do its fields mean what they seem to?  Whatever else is wrong with a box, the driver says. */
static bool is_plain(const struct side *side, size_t width, size_t rows, size_t slices)
{
	if (side->special || side->pitch > PITCH_MOST || rows > PITCH_MOST || slices > PITCH_MOST ||
	    side->x > side->pitch || width > side->pitch - side->x)
		return false;
	return slices == 1 || (side->height <= PITCH_MOST / side->pitch &&
			       side->y <= side->height && rows <= side->height - side->y);
}

static struct shape_side steps_of(const struct side *side)
{
	return (struct shape_side){ .pitch = side->pitch, .slice = side->pitch * side->height };
}

/* Leaves it to the ring, if that is wanted, to carry the rows between `host` and `far`. */
static void offer_to_ring(struct shim_copy *copy, const struct side *host, const struct side *far,
			  size_t width, size_t rows, size_t slices)
{
	if ((far->type != CU_MEMORYTYPE_DEVICE && far->type != CU_MEMORYTYPE_UNIFIED) ||
	    !is_plain(host, width, rows, slices) || !is_plain(far, width, rows, slices))
		return;
	copy->far = far->device + skipped(far, width, rows);
	copy->shape = (struct shape){ .width = width,
				      .rows = rows,
				      .slices = slices,
				      .host = steps_of(host),
				      .device = steps_of(far) };
}

/* From the first byte to behind the last. */
static size_t extent_of(const struct side *side, size_t width, size_t rows, size_t slices)
{
	size_t pitch = side->pitch != 0 ? side->pitch : width;
	size_t height = side->height != 0 ? side->height : rows;

	return ((slices - 1) * height + rows - 1) * pitch + width;
}

/* The other one of two host sides; in a graph it must not be pinned at all. */
static void clear_other(const char *address, size_t extent)
{
	if (atomic_load(&shim_captures) != 0 || pin_crosses(address, extent))
		shim_unpin(address, extent);
}

/* Describes `width` bytes x `rows` x `slices` between two sides. */
static void describe(struct shim_copy *copy, const struct side *src, const struct side *dst,
		     size_t width, size_t rows, size_t slices)
{
	const char *from = first_byte(src, width, rows), *to = first_byte(dst, width, rows);
	/* Both hosts: the one that is ours matters, and if both are, either. */
	const struct side *side = from != NULL && (to == NULL || heap_owns(from)) ? src : dst;

	copy->rows = true;
	copy->bytes = width * rows * slices;
	copy->direction = direction_of(from, to);
	refuse_promoted(src);
	refuse_promoted(dst);
	copy->host = side == src ? from : to;
	if (copy->host == NULL || copy->bytes == 0)
		return;

	const struct side *far = side == src ? dst : src;
	copy->extent = extent_of(side, width, rows, slices);
	if (from != NULL && to != NULL)
		clear_other(side == src ? to : from, extent_of(far, width, rows, slices));
	offer_to_ring(copy, side, far, width, rows, slices);
}

/*
 * The driver goes by the address that it is given, even where offsets lead from there into a
 * promoted block: outside it is pageable memory, and the box is refused (error 1, driver 580).
 * Then the box begins at its first byte instead.  How far the side moves; 0: it may stay.
 */
static size_t moves(const struct side *side, size_t width, size_t rows)
{
	const char *first = first_byte(side, width, rows);
	size_t skip = skipped(side, width, rows);

	if (first == NULL || skip == 0 || !heap_owns(first) ||
	    range_find(first) == range_find(first - skip))
		return 0;
	return skip;
}

#define SIDE_2D(box, end)                                                                    \
	{                                                                                    \
		.type = (box)->end##MemoryType, .host = (box)->end##Host,                    \
		.device = (box)->end##Device, .x = (box)->end##XInBytes, .y = (box)->end##Y, \
		.pitch = (box)->end##Pitch                                                   \
	}
#define MOVE_2D(box, end, bytes)                                       \
	if ((bytes) != 0) {                                            \
		(box)->end##Host = (char *)(box)->end##Host + (bytes); \
		(box)->end##Device += (bytes);                         \
		(box)->end##XInBytes = (box)->end##Y = 0;              \
	}

/* Describes the box; true: *ret_moved is to be run in its place. */
static bool describe_2d(struct shim_copy *copy, const CUDA_MEMCPY2D *box, CUDA_MEMCPY2D *ret_moved)
{
	struct side src = SIDE_2D(box, src), dst = SIDE_2D(box, dst);

	describe(copy, &src, &dst, box->WidthInBytes, box->Height, 1);

	size_t from = moves(&src, box->WidthInBytes, box->Height);
	size_t to = moves(&dst, box->WidthInBytes, box->Height);
	if (from == 0 && to == 0)
		return false;
	*ret_moved = *box;
	MOVE_2D(ret_moved, src, from);
	MOVE_2D(ret_moved, dst, to);
	return true;
}
#undef SIDE_2D

/* CUDA_MEMCPY3D and CUDA_MEMCPY3D_PEER name these fields alike. */
#define SIDE_3D(box, end)                                                                    \
	{                                                                                    \
		.type = (box)->end##MemoryType, .host = (box)->end##Host,                    \
		.device = (box)->end##Device, .x = (box)->end##XInBytes, .y = (box)->end##Y, \
		.z = (box)->end##Z, .pitch = (box)->end##Pitch, .height = (box)->end##Height \
	}
#define DESCRIBE_3D(name, type, is_special)                                                       \
	static bool name(struct shim_copy *copy, const type *box, type *ret_moved)                \
	{                                                                                         \
		struct side src = SIDE_3D(box, src), dst = SIDE_3D(box, dst);                     \
                                                                                                  \
		src.special = dst.special = (is_special) || box->srcLOD != 0 || box->dstLOD != 0; \
		describe(copy, &src, &dst, box->WidthInBytes, box->Height, box->Depth);           \
                                                                                                  \
		size_t from = moves(&src, box->WidthInBytes, box->Height);                        \
		size_t to = moves(&dst, box->WidthInBytes, box->Height);                          \
		if (from == 0 && to == 0)                                                         \
			return false;                                                             \
		*ret_moved = *box;                                                                \
		MOVE_2D(ret_moved, src, from);                                                    \
		MOVE_2D(ret_moved, dst, to);                                                      \
		if (from != 0)                                                                    \
			ret_moved->srcZ = 0;                                                      \
		if (to != 0)                                                                      \
			ret_moved->dstZ = 0;                                                      \
		return true;                                                                      \
	}
DESCRIBE_3D(describe_3d, CUDA_MEMCPY3D, box->reserved0 != NULL || box->reserved1 != NULL)
/* Its contexts need not be the current one. */
DESCRIBE_3D(describe_3d_peer, CUDA_MEMCPY3D_PEER, true)
#undef DESCRIBE_3D
#undef SIDE_3D
#undef MOVE_2D

/* The box to run: where its source has been bounced, it begins where that stands. */
#define BOUNCED(name, type, more)                                                           \
	static const type *name(const struct shim_copy *copy, const type *box, type *moved) \
	{                                                                                   \
		if (copy->route != COPY_BOUNCE)                                             \
			return box;                                                         \
		if (box != moved)                                                           \
			*moved = *box;                                                      \
		moved->srcHost = copy->from;                                                \
		moved->srcDevice = (CUdeviceptr)copy->from;                                 \
		moved->srcXInBytes = moved->srcY = 0;                                       \
		more;                                                                       \
		return moved;                                                               \
	}
BOUNCED(bounced_2d, CUDA_MEMCPY2D, (void)0)
BOUNCED(bounced_3d, CUDA_MEMCPY3D, moved->srcZ = 0)
BOUNCED(bounced_3d_peer, CUDA_MEMCPY3D_PEER, moved->srcZ = 0)
#undef BOUNCED

#define SHAPED(name, type, own, kind)                                      \
	HP_EXPORT CUresult name(const type *box)                           \
	{                                                                  \
		struct shim_copy copy = { .per_thread = own };             \
		type moved;                                                \
                                                                           \
		if (box != NULL && describe_##kind(&copy, box, &moved))    \
			box = &moved;                                      \
		SHIM_COPY_RUN(name, (bounced_##kind(&copy, box, &moved))); \
	}
#define SHAPED_ASYNC(name, type, own, kind)                                        \
	HP_EXPORT CUresult name(const type *box, CUstream stream)                  \
	{                                                                          \
		struct shim_copy copy = { .asynchronous = true,                    \
					  .per_thread = own,                       \
					  .stream = stream };                      \
		type moved;                                                        \
                                                                                   \
		if (box != NULL && describe_##kind(&copy, box, &moved))            \
			box = &moved;                                              \
		SHIM_COPY_RUN(name, (bounced_##kind(&copy, box, &moved), stream)); \
	}

SHAPED(cuMemcpy2D_v2, CUDA_MEMCPY2D, false, 2d)
SHAPED(cuMemcpy2D_v2_ptds, CUDA_MEMCPY2D, true, 2d)
SHAPED(cuMemcpy2DUnaligned_v2, CUDA_MEMCPY2D, false, 2d)
SHAPED(cuMemcpy2DUnaligned_v2_ptds, CUDA_MEMCPY2D, true, 2d)
SHAPED_ASYNC(cuMemcpy2DAsync_v2, CUDA_MEMCPY2D, false, 2d)
SHAPED_ASYNC(cuMemcpy2DAsync_v2_ptsz, CUDA_MEMCPY2D, true, 2d)
SHAPED(cuMemcpy3D_v2, CUDA_MEMCPY3D, false, 3d)
SHAPED(cuMemcpy3D_v2_ptds, CUDA_MEMCPY3D, true, 3d)
SHAPED_ASYNC(cuMemcpy3DAsync_v2, CUDA_MEMCPY3D, false, 3d)
SHAPED_ASYNC(cuMemcpy3DAsync_v2_ptsz, CUDA_MEMCPY3D, true, 3d)
SHAPED(cuMemcpy3DPeer, CUDA_MEMCPY3D_PEER, false, 3d_peer)
SHAPED(cuMemcpy3DPeer_ptds, CUDA_MEMCPY3D_PEER, true, 3d_peer)
SHAPED_ASYNC(cuMemcpy3DPeerAsync, CUDA_MEMCPY3D_PEER, false, 3d_peer)
SHAPED_ASYNC(cuMemcpy3DPeerAsync_ptsz, CUDA_MEMCPY3D_PEER, true, 3d_peer)
#undef SHAPED
#undef SHAPED_ASYNC

/*
 * Batches: each copy of one is looked at before the call, reported after it.  What touches a pinned
 * block is waited for as a whole, or unpinned where the batch goes into a graph.
 */
struct batch {
	bool per_thread, captured, pinned;
	CUstream stream;
	/* For the profile: the call's time is shared out evenly among its copies. */
	const void *frame;
	uint64_t enter_ns, each_ns;
};

static struct batch batch_begin(CUstream stream, bool per_thread, const void *frame)
{
	return (struct batch){
		.per_thread = per_thread,
		.captured = shim_active() && atomic_load(&shim_captures) > 0 &&
			    shim_stream_captures(stream, per_thread),
		.stream = stream,
		.frame = frame,
		.enter_ns = trace_active() ? hp_now_ns() : 0,
	};
}

/*
 * A range that begins in one of our registrations and ends outside is refused, which natively it is
 * not: the block is unpinned, once and for all copies of the batch.
 */
static void batch_clear(struct batch *batch, const void *address, size_t extent)
{
	if (batch->captured || pin_crosses(address, extent))
		shim_unpin(address, extent);
}

/* Again after it: another thread may have pinned a block meanwhile. */
static void batch_look(struct batch *batch, const void *address, size_t extent)
{
	batch->pinned |= !batch->captured && pin_covers_any(address, extent);
}

static void batch_report(struct batch *batch, CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	struct shim_copy copy = { .bytes = bytes };
	bool promoted = pin_covers_any((const void *)src, bytes) ||
			pin_covers_any((const void *)dst, bytes);

	/* An address of 0 is an array's. */
	shim_copy_between(&copy, dst != 0 ? dst : src, src != 0 ? src : dst);
	if (copy.direction == TRACE_H2H && (dst == 0 || src == 0))
		copy.direction = dst != 0 ? TRACE_D2H : src != 0 ? TRACE_H2D : TRACE_D2D;
	const struct block *block = range_find(copy.host);
	trace_copied(&(struct trace_copy){
		.direction = copy.direction,
		.memory = promoted ? TRACE_PROMOTED : TRACE_UNKNOWN,
		.host = copy.host,
		.allocator = block != NULL ? atomic_load(&block->site) : 0,
		.block_bytes = block != NULL ? atomic_load(&block->size) : 0,
		.captured = batch->captured,
		.bytes = bytes,
		.enter_ns = batch->enter_ns,
		.leave_ns = batch->enter_ns + batch->each_ns,
		.frame = batch->frame,
	});
	batch->enter_ns += batch->each_ns;
}

static CUresult batch_end(const struct batch *batch, CUresult result)
{
	if (batch->pinned && result == CUDA_SUCCESS)
		result = shim_stream_wait(batch->stream, batch->per_thread);
	pin_use_end();
	return result;
}

/* Runs `step` for both sides of every copy of a linear batch. */
#define EACH_SIDE(step)                                                                       \
	for (size_t i = 0; dsts != NULL && srcs != NULL && sizes != NULL && i < count; i++) { \
		step(&batch, (const void *)srcs[i], sizes[i]);                                \
		step(&batch, (const void *)dsts[i], sizes[i]);                                \
	}
#define EACH(step)                                                                          \
	for (size_t i = 0; dsts != NULL && srcs != NULL && sizes != NULL && i < count; i++) \
	step(&batch, dsts[i], srcs[i], sizes[i])

/* CUDA 13 dropped the index of the copy that failed. */
#define BATCH_BODY(name, own, call)                                                        \
	{                                                                                  \
		shim_enter_on(REAL_ROW_##name, stream);                                    \
		if (!shim_active())                                                        \
			return REAL(name) call;                                            \
		struct batch batch = batch_begin(stream, own, __builtin_frame_address(0)); \
		pin_use_begin();                                                           \
		EACH_SIDE(batch_clear);                                                    \
		EACH_SIDE(batch_look);                                                     \
		CUresult result = REAL(name) call;                                         \
		EACH_SIDE(batch_look);                                                     \
		if (result == CUDA_SUCCESS && batch.enter_ns != 0 && count > 0) {          \
			batch.each_ns = (hp_now_ns() - batch.enter_ns) / count;            \
			EACH(batch_report);                                                \
		}                                                                          \
		return batch_end(&batch, result);                                          \
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
#undef EACH_SIDE
#undef EACH
#undef BATCH
#undef BATCH_V2

static CUdeviceptr operand(const CUmemcpy3DOperand *side)
{
	return side->type == CU_MEMCPY_OPERAND_TYPE_POINTER ? side->op.ptr.ptr : 0;
}

/* 0: none, or one that is not known here. */
static size_t element_bytes(const CUmemcpy3DOperand *side)
{
	CUDA_ARRAY3D_DESCRIPTOR about;

	if (side->type != CU_MEMCPY_OPERAND_TYPE_ARRAY || !REAL_HAS(cuArray3DGetDescriptor_v2) ||
	    REAL(cuArray3DGetDescriptor_v2)(&about, side->op.array.array) != CUDA_SUCCESS)
		return 0;
	switch (about.Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return about.NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2 * (size_t)about.NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4 * (size_t)about.NumChannels;
	default:
		return 0;
	}
}

/* An element of an array has its size; where no array is, it is a byte. */
static size_t box_element(const CUDA_MEMCPY3D_BATCH_OP *box)
{
	size_t element = element_bytes(&box->src);

	if (element == 0)
		element = element_bytes(&box->dst);
	return element != 0 ? element : 1;
}

static size_t box_bytes(const CUDA_MEMCPY3D_BATCH_OP *box)
{
	return box->extent.width * box->extent.height * box->extent.depth * box_element(box);
}

/* From the first byte of a side to behind its last. */
static size_t box_extent(const CUDA_MEMCPY3D_BATCH_OP *box, const CUmemcpy3DOperand *side)
{
	const CUextent3D *size = &box->extent;

	if (operand(side) == 0 || size->width == 0 || size->height == 0 || size->depth == 0)
		return 0;
	size_t pitch = side->op.ptr.rowLength != 0 ? side->op.ptr.rowLength : size->width;
	size_t height = side->op.ptr.layerHeight != 0 ? side->op.ptr.layerHeight : size->height;
	return (((size->depth - 1) * height + size->height - 1) * pitch + size->width) *
	       box_element(box);
}

#define EACH_SIDE(step)                                            \
	for (size_t i = 0; boxes != NULL && i < count; i++) {      \
		step(&batch, (const void *)operand(&boxes[i].src), \
		     box_extent(&boxes[i], &boxes[i].src));        \
		step(&batch, (const void *)operand(&boxes[i].dst), \
		     box_extent(&boxes[i], &boxes[i].dst));        \
	}
#define EACH(step)                                          \
	for (size_t i = 0; boxes != NULL && i < count; i++) \
	step(&batch, operand(&boxes[i].dst), operand(&boxes[i].src), box_bytes(&boxes[i]))
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
#undef EACH_SIDE
#undef EACH
#undef BATCH
#undef BATCH_V2
#undef BATCH_BODY
