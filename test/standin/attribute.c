/*
 * attribute.c - pointer attributes, with the meaning and size that cuda.h states for
 * cuPointerGetAttribute.
 */
#include "engine.h"

#include <string.h>

#define KIND(attribute, bytes) [CU_POINTER_ATTRIBUTE_##attribute] = bytes

static const unsigned char sizes[] = {
	KIND(CONTEXT, 8),
	KIND(MEMORY_TYPE, 4),
	KIND(DEVICE_POINTER, 8),
	KIND(HOST_POINTER, 8),
	KIND(SYNC_MEMOPS, 1),
	KIND(BUFFER_ID, 8),
	KIND(IS_MANAGED, 1),
	KIND(DEVICE_ORDINAL, 4),
	KIND(IS_LEGACY_CUDA_IPC_CAPABLE, 1),
	KIND(RANGE_START_ADDR, 8),
	KIND(RANGE_SIZE, 8),
	KIND(MAPPED, 1),
	KIND(ALLOWED_HANDLE_TYPES, 8),
	KIND(IS_GPU_DIRECT_RDMA_CAPABLE, 1),
	KIND(ACCESS_FLAGS, 4),
	KIND(MEMPOOL_HANDLE, 8),
	KIND(MAPPING_SIZE, 8),
	KIND(MAPPING_BASE_ADDR, 8),
	KIND(MEMORY_BLOCK_ID, 8),
};
#undef KIND

CUresult pointer_clear(void *data, CUpointer_attribute attribute)
{
	if (data == NULL || (size_t)attribute >= sizeof(sizes) || sizes[attribute] == 0)
		return CUDA_ERROR_INVALID_VALUE;
	memset(data, 0, sizes[attribute]);
	return CUDA_SUCCESS;
}

static bool is_pooled(const struct block *block)
{
	return block->kind == B_DEVICE && (block->flags & BLOCK_POOLED);
}

CUresult pointer_attribute(void *data, CUpointer_attribute attribute, uintptr_t at)
{
	const struct block *block = block_find(at);
	uint64_t value = 0;
	size_t bytes;

	if (data == NULL || (size_t)attribute >= sizeof(sizes) || sizes[attribute] == 0 ||
	    block == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		value = block->ctx != NULL && !is_pooled(block) ? (uintptr_t)block->ctx->handle : 0;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		value = block_is_host(block) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		value = at;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (block_on_device(block))
			return CUDA_ERROR_INVALID_VALUE;
		value = at;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		value = block->sync_memops;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		value = block->serial;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		value = block->kind == B_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		value = (unsigned)block->dev;
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		value = block->kind == B_DEVICE && !is_pooled(block);
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		value = is_pooled(block); /* the only pool, which has no handle */
		break;
	/* Observed on an H200: for mapped memory, the whole reservation. */
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		value = block->kind == B_MAPPED ? reservation(at, &bytes) : block->base;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		value = block->bytes;
		if (block->kind == B_MAPPED) {
			reservation(at, &bytes);
			value = bytes;
		}
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		value = block->base;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		value = block->bytes;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		value = 1;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		value = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
		break;
	default: /* no shareable handles, no RDMA */
		break;
	}
	memcpy(data, &value, sizes[attribute]);
	return CUDA_SUCCESS;
}
