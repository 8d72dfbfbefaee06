/*
 * copies_batch.c - the exported functions that carry out several copies in one call.
 */
#include "engine/batch.h"
#include "engine/state.h"
#include "shim/driver/enter.h"

/* CUDA 13 dropped the index of the copy that failed, so each function has two forms. */
#define BATCH_BODY(name, own, call)                                                        \
	{                                                                                  \
		SHIM_ENTER_ON(REAL_ROW_##name, stream);                                    \
		if (!state_active)                                                         \
			return REAL(name) call;                                            \
		struct batch batch = batch_begin(stream, own, __builtin_frame_address(0)); \
		do {                                                                       \
			EACH_SIDE(batch_enter_side);                                       \
		} while (batch_enters_again(&batch));                                      \
		CUresult result = REAL(name) call;                                         \
		if (result == CUDA_SUCCESS && batch.enter_ns != 0 && count > 0) {          \
			batch_report_begin(&batch, count);                                 \
			EACH(batch_report_copy);                                           \
		}                                                                          \
		return batch_end(&batch, result);                                          \
	}

#define EACH_SIDE(step)                                                                       \
	for (size_t i = 0; dsts != NULL && srcs != NULL && sizes != NULL && i < count; i++) { \
		step(&batch, (const void *)srcs[i], sizes[i]);                                \
		step(&batch, (const void *)dsts[i], sizes[i]);                                \
	}
#define EACH(step)                                                                          \
	for (size_t i = 0; dsts != NULL && srcs != NULL && sizes != NULL && i < count; i++) \
	step(&batch, dsts[i], srcs[i], sizes[i])
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

/* Returns the size of an element; 0: the format is not known. */
static size_t element_of(const CUDA_ARRAY3D_DESCRIPTOR *about)
{
	switch (about->Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		return about->NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		return 2 * (size_t)about->NumChannels;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		return 4 * (size_t)about->NumChannels;
	default:
		return 0;
	}
}

/* Returns the size of an array's element; 0: no array, or an unknown format.  Asks the driver. */
static size_t element_bytes(const CUmemcpy3DOperand *side)
{
	CUDA_ARRAY3D_DESCRIPTOR about;

	return side->type == CU_MEMCPY_OPERAND_TYPE_ARRAY &&
			       REAL(cuArray3DGetDescriptor_v2)(&about, side->op.array.array) ==
				       CUDA_SUCCESS
		       ? element_of(&about)
		       : 0;
}

/* The extent counts elements of the array; without an array it counts bytes. */
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

/* Returns the distance from the side's first byte to the end of its last. */
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
#undef BATCH
#undef BATCH_V2

/* The functions below carry out one copy. */
enum { count = 1 };

#define BOX(name, own)                                                                   \
	HP_EXPORT CUresult name(CUDA_MEMCPY3D_BATCH_OP *boxes, unsigned long long flags, \
				CUstream stream) BATCH_BODY(name, own, (boxes, flags, stream))
BOX(cuMemcpy3DWithAttributesAsync, false)
BOX(cuMemcpy3DWithAttributesAsync_ptsz, true)
#undef EACH_SIDE
#undef EACH
#undef BOX

#define EACH_SIDE(step)                         \
	step(&batch, (const void *)src, bytes); \
	step(&batch, (const void *)dst, bytes)
#define EACH(step) step(&batch, dst, src, bytes)
#define ONE(name, own)                                                           \
	HP_EXPORT CUresult name(CUdeviceptr dst, CUdeviceptr src, size_t bytes,  \
				CUmemcpyAttributes *attributes, CUstream stream) \
		BATCH_BODY(name, own, (dst, src, bytes, attributes, stream))
ONE(cuMemcpyWithAttributesAsync, false)
ONE(cuMemcpyWithAttributesAsync_ptsz, true)
#undef EACH_SIDE
#undef EACH
#undef ONE
#undef BATCH_BODY
