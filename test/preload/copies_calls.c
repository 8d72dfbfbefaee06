/*
 * copies_calls.c - makes any copy between host and device, described by one structure, by any
 * driver function.
 */
#include "copies.h"

static size_t bytes_of(const struct copy *copy)
{
	return copy->box.width * copy->box.rows * copy->box.slices;
}

/* Returns the host address of a run of bytes. */
static char *host_of(const struct copy *copy)
{
	return copy->host + (copy->host != NULL ? copy_begin_of(&copy->box.host) : 0);
}

static CUdeviceptr device_of(const struct copy *copy)
{
	return copy->device + copy_begin_of(&copy->box.device);
}

static CUdeviceptr source_of(const struct copy *copy)
{
	return copy->to_device ? (CUdeviceptr)host_of(copy) : device_of(copy);
}

static CUdeviceptr target_of(const struct copy *copy)
{
	return copy->to_device ? device_of(copy) : (CUdeviceptr)host_of(copy);
}

#define HOST_END(end)                                                                  \
	.end##MemoryType = copy->unified ? CU_MEMORYTYPE_UNIFIED : CU_MEMORYTYPE_HOST, \
	.end##Host = copy->host, .end##Device = copy->unified ? (CUdeviceptr)copy->host : 0

/* The driver reads neither the address nor the pitch of an array. */
#define DEVICE_END(end)                                                \
	.end##MemoryType = copy->array != NULL ? CU_MEMORYTYPE_ARRAY   \
			   : copy->unified     ? CU_MEMORYTYPE_UNIFIED \
					       : CU_MEMORYTYPE_DEVICE,     \
	.end##Device = copy->device, .end##Array = copy->array

#define FLAT(end, side) .end##XInBytes = (side).x, .end##Y = (side).y, .end##Pitch = (side).pitch
#define DEEP(end, side) FLAT(end, side), .end##Z = (side).z, .end##Height = (side).height

CUDA_MEMCPY2D copy_flat(const struct copy *copy)
{
	const struct copy_box *box = &copy->box;

	if (copy->to_device)
		return (CUDA_MEMCPY2D){
			HOST_END(src),          FLAT(src, box->host),       DEVICE_END(dst),
			FLAT(dst, box->device), .WidthInBytes = box->width, .Height = box->rows
		};
	return (CUDA_MEMCPY2D){
		DEVICE_END(src),      FLAT(src, box->device),     HOST_END(dst),
		FLAT(dst, box->host), .WidthInBytes = box->width, .Height = box->rows
	};
}

CUDA_MEMCPY3D copy_deep(const struct copy *copy)
{
	const struct copy_box *box = &copy->box;

	if (copy->to_device)
		return (CUDA_MEMCPY3D){
			HOST_END(src),          DEEP(src, box->host),       DEVICE_END(dst),
			DEEP(dst, box->device), .WidthInBytes = box->width, .Height = box->rows,
			.Depth = box->slices
		};
	return (CUDA_MEMCPY3D){
		DEVICE_END(src),      DEEP(src, box->device),     HOST_END(dst),
		DEEP(dst, box->host), .WidthInBytes = box->width, .Height = box->rows,
		.Depth = box->slices
	};
}

/* Convert boxes to the driver's structures, valid until the next call. */
static const CUDA_MEMCPY2D *flat(const struct copy *copy)
{
	static CUDA_MEMCPY2D flat_box;

	flat_box = copy_flat(copy);
	return &flat_box;
}

static const CUDA_MEMCPY3D *deep(const struct copy *copy)
{
	static CUDA_MEMCPY3D deep_box;

	deep_box = copy_deep(copy);
	return &deep_box;
}

static const CUDA_MEMCPY3D_PEER *peer(const struct copy *copy)
{
	static CUDA_MEMCPY3D_PEER peer_box;

	memcpy(&peer_box, deep(copy), sizeof(peer_box));
	peer_box.srcContext = peer_box.dstContext = context;
	return &peer_box;
}

/* Makes the rows of a box the copies of one batch. */
struct batch {
	CUdeviceptr to[COPY_BATCH_MOST], from[COPY_BATCH_MOST];
	size_t sizes[COPY_BATCH_MOST], count, first, failed;
	CUmemcpyAttributes how;
};

static struct batch *batch_of(const struct copy *copy)
{
	static struct batch batch;
	const struct copy_box *box = &copy->box;

	batch.how.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
	batch.count = 0;
	for (size_t z = 0; z < box->slices; z++)
		for (size_t y = 0; y < box->rows; y++) {
			size_t host = (z * box->host.height + y) * box->host.pitch;
			size_t device = (z * box->device.height + y) * box->device.pitch;

			batch.to[batch.count] = target_of(copy) + (copy->to_device ? device : host);
			batch.from[batch.count] =
				source_of(copy) + (copy->to_device ? host : device);
			batch.sizes[batch.count++] = box->width;
		}
	return &batch;
}

/* Makes the box the only copy of a batch; in elements, which have four bytes in an array. */
static CUDA_MEMCPY3D_BATCH_OP *boxes(const struct copy *copy)
{
	static CUDA_MEMCPY3D_BATCH_OP operation;
	const struct copy_box *box = &copy->box;
	size_t each = copy->array != NULL ? 4 : 1;
	CUmemcpy3DOperand host = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER,
				   .op.ptr = { (CUdeviceptr)host_of(copy),
					       box->host.pitch / each,
					       box->host.height,
					       { 0 } } };
	CUmemcpy3DOperand device = {
		.type = CU_MEMCPY_OPERAND_TYPE_POINTER,
		.op.ptr = { device_of(copy), box->device.pitch, box->device.height, { 0 } }
	};
	const CUmemcpy3DOperand in_array = {
		.type = CU_MEMCPY_OPERAND_TYPE_ARRAY,
		.op.array = { copy->array, { box->device.x / each, box->device.y, box->device.z } }
	};

	if (copy->array != NULL)
		device = in_array;
	operation =
		(CUDA_MEMCPY3D_BATCH_OP){ .src = copy->to_device ? host : device,
					  .dst = copy->to_device ? device : host,
					  .extent = { box->width / each, box->rows, box->slices } };
	return &operation;
}

#define HOST       host_of(copy)
#define DEVICE     device_of(copy)
#define SOURCE     source_of(copy)
#define TARGET     target_of(copy)
#define BYTES      bytes_of(copy)
#define ON         copy->stream
#define PLACE      copy->array, copy_begin_of(&copy->box.device)

#define UP         COPY_UPLOADS
#define DOWN       COPY_DOWNLOADS
#define ASYNC      COPY_ASYNC
#define OWN        COPY_OWN
#define BOTH       (COPY_UPLOADS | COPY_DOWNLOADS)
#define TO_ARRAY   (COPY_UPLOADS | COPY_ARRAY)
#define FROM_ARRAY (COPY_DOWNLOADS | COPY_ARRAY)
#define FLAT_BOX   (BOTH | COPY_ROWS | COPY_ARRAYS | COPY_UNIFIED)
#define DEEP_BOX   (FLAT_BOX | COPY_SLICES)
#define PEER_BOX   (BOTH | COPY_ROWS | COPY_SLICES | COPY_UNIFIED)
#define IN_BATCHES (BOTH | COPY_ROWS | COPY_SLICES | COPY_ASYNC | COPY_MADE)
#define BATCH      (IN_BATCHES | COPY_BATCH)
#define BOX_BATCH  (IN_BATCHES | COPY_ARRAYS)

/* clang-format off */
#define CALLS(CALL) /* (symbol, traits, arguments) */ \
	CALL(cuMemcpyHtoD_v2,             UP,                       (DEVICE, HOST, BYTES)) \
	CALL(cuMemcpyHtoD_v2_ptds,        UP | OWN,                 (DEVICE, HOST, BYTES)) \
	CALL(cuMemcpyHtoDAsync_v2,        UP | ASYNC,               (DEVICE, HOST, BYTES, ON)) \
	CALL(cuMemcpyHtoDAsync_v2_ptsz,   UP | ASYNC | OWN,         (DEVICE, HOST, BYTES, ON)) \
	CALL(cuMemcpyDtoH_v2,             DOWN,                     (HOST, DEVICE, BYTES)) \
	CALL(cuMemcpyDtoH_v2_ptds,        DOWN | OWN,               (HOST, DEVICE, BYTES)) \
	CALL(cuMemcpyDtoHAsync_v2,        DOWN | ASYNC,             (HOST, DEVICE, BYTES, ON)) \
	CALL(cuMemcpyDtoHAsync_v2_ptsz,   DOWN | ASYNC | OWN,       (HOST, DEVICE, BYTES, ON)) \
	CALL(cuMemcpy,                    BOTH,                     (TARGET, SOURCE, BYTES)) \
	CALL(cuMemcpy_ptds,               BOTH | OWN,               (TARGET, SOURCE, BYTES)) \
	CALL(cuMemcpyAsync,               BOTH | ASYNC,             (TARGET, SOURCE, BYTES, ON)) \
	CALL(cuMemcpyAsync_ptsz,          BOTH | ASYNC | OWN,       (TARGET, SOURCE, BYTES, ON)) \
	CALL(cuMemcpyHtoA_v2,             TO_ARRAY,                 (PLACE, HOST, BYTES)) \
	CALL(cuMemcpyHtoA_v2_ptds,        TO_ARRAY | OWN,           (PLACE, HOST, BYTES)) \
	CALL(cuMemcpyHtoAAsync_v2,        TO_ARRAY | ASYNC,         (PLACE, HOST, BYTES, ON)) \
	CALL(cuMemcpyHtoAAsync_v2_ptsz,   TO_ARRAY | ASYNC | OWN,   (PLACE, HOST, BYTES, ON)) \
	CALL(cuMemcpyAtoH_v2,             FROM_ARRAY,               (HOST, PLACE, BYTES)) \
	CALL(cuMemcpyAtoH_v2_ptds,        FROM_ARRAY | OWN,         (HOST, PLACE, BYTES)) \
	CALL(cuMemcpyAtoHAsync_v2,        FROM_ARRAY | ASYNC,       (HOST, PLACE, BYTES, ON)) \
	CALL(cuMemcpyAtoHAsync_v2_ptsz,   FROM_ARRAY | ASYNC | OWN, (HOST, PLACE, BYTES, ON)) \
	CALL(cuMemcpy2D_v2,               FLAT_BOX,                 (flat(copy))) \
	CALL(cuMemcpy2D_v2_ptds,          FLAT_BOX | OWN,           (flat(copy))) \
	CALL(cuMemcpy2DUnaligned_v2,      FLAT_BOX,                 (flat(copy))) \
	CALL(cuMemcpy2DUnaligned_v2_ptds, FLAT_BOX | OWN,           (flat(copy))) \
	CALL(cuMemcpy2DAsync_v2,          FLAT_BOX | ASYNC,         (flat(copy), ON)) \
	CALL(cuMemcpy2DAsync_v2_ptsz,     FLAT_BOX | ASYNC | OWN,   (flat(copy), ON)) \
	CALL(cuMemcpy3D_v2,               DEEP_BOX,                 (deep(copy))) \
	CALL(cuMemcpy3D_v2_ptds,          DEEP_BOX | OWN,           (deep(copy))) \
	CALL(cuMemcpy3DAsync_v2,          DEEP_BOX | ASYNC,         (deep(copy), ON)) \
	CALL(cuMemcpy3DAsync_v2_ptsz,     DEEP_BOX | ASYNC | OWN,   (deep(copy), ON)) \
	CALL(cuMemcpy3DPeer,              PEER_BOX,                 (peer(copy))) \
	CALL(cuMemcpy3DPeer_ptds,         PEER_BOX | OWN,           (peer(copy))) \
	CALL(cuMemcpy3DPeerAsync,         PEER_BOX | ASYNC,         (peer(copy), ON)) \
	CALL(cuMemcpy3DPeerAsync_ptsz,    PEER_BOX | ASYNC | OWN,   (peer(copy), ON))

#define BATCHES(CALL) /* (symbol, traits, arguments) */ \
	CALL(cuMemcpyBatchAsync,         BATCH,           (PARTS(b), &b->failed, ON)) \
	CALL(cuMemcpyBatchAsync_ptsz,    BATCH | OWN,     (PARTS(b), &b->failed, ON)) \
	CALL(cuMemcpyBatchAsync_v2,      BATCH,           (PARTS(b), ON)) \
	CALL(cuMemcpyBatchAsync_v2_ptsz, BATCH | OWN,     (PARTS(b), ON))

#define BOX_BATCHES(CALL) /* (symbol, traits, arguments) */ \
	CALL(cuMemcpy3DBatchAsync,         BOX_BATCH,       (1, boxes(copy), &(size_t){ 0 }, 0, ON)) \
	CALL(cuMemcpy3DBatchAsync_ptsz,    BOX_BATCH | OWN, (1, boxes(copy), &(size_t){ 0 }, 0, ON)) \
	CALL(cuMemcpy3DBatchAsync_v2,      BOX_BATCH,       (1, boxes(copy), 0, ON)) \
	CALL(cuMemcpy3DBatchAsync_v2_ptsz, BOX_BATCH | OWN, (1, boxes(copy), 0, ON))
/* clang-format on */

#define PARTS(b)   (b)->to, (b)->from, (b)->sizes, (b)->count, &(b)->how, &(b)->first, 1

#define DEFINE(symbol, traits, arguments)                     \
	static CUresult run_##symbol(const struct copy *copy) \
	{                                                     \
		return symbol arguments;                      \
	}
#define DEFINE_BATCH(symbol, traits, arguments)               \
	static CUresult run_##symbol(const struct copy *copy) \
	{                                                     \
		struct batch *b = batch_of(copy);             \
		return symbol arguments;                      \
	}
CALLS(DEFINE)
BATCHES(DEFINE_BATCH)
BOX_BATCHES(DEFINE)

#define ENTRY(symbol, traits, arguments) { #symbol, traits, run_##symbol },
const struct copy_call copy_calls[] = { CALLS(ENTRY) BATCHES(ENTRY) BOX_BATCHES(ENTRY) };
const size_t copy_calls_count = sizeof(copy_calls) / sizeof(copy_calls[0]);
