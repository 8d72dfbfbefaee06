/*
 * libcuda_memory.c - the exported functions of memory, registration, attributes, copies and
 * memsets.
 */
#include "bridge.h"

#include <string.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC visibility push(default)

static CUresult alloc_to(CUdeviceptr *ret, size_t bytes, enum block_kind kind, unsigned flags)
{
	uintptr_t at;
	CUresult rc = ret != NULL ? mem_alloc(&at, bytes, kind, flags) : CUDA_ERROR_INVALID_VALUE;

	if (rc == CUDA_SUCCESS)
		*ret = at;
	return rc;
}

static CUresult alloc_host(void **ret, size_t bytes, unsigned flags)
{
	uintptr_t at;
	CUresult rc = ret != NULL && (flags & ~7u) == 0 ? mem_alloc(&at, bytes, B_HOST, flags)
							: CUDA_ERROR_INVALID_VALUE;

	if (rc == CUDA_SUCCESS)
		*ret = (void *)at;
	return rc;
}

static CUresult range_attribute(void *data, size_t size, CUmem_range_attribute attribute,
				CUdeviceptr at, size_t bytes)
{
	const struct block *block = block_find(at);

	if (data == NULL || bytes == 0 || size < 4 || size % 4 != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (block == NULL || block->kind != B_MANAGED)
		return CUDA_ERROR_INVALID_VALUE;
	memset(data, 0, size);
	if (attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
	    attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION ||
	    attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY)
		for (size_t i = 0; i < size / 4; i++)
			((int *)data)[i] = CU_DEVICE_INVALID;
	return CUDA_SUCCESS;
}

static CUresult advise(CUdeviceptr at, size_t bytes)
{
	const struct block *block = block_find(at);

	if (bytes == 0 || (block == NULL && !engine.hmm) ||
	    (block != NULL && block->kind != B_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static CUresult memory_info(size_t *avail, size_t *total)
{
	if (avail == NULL || total == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*total = MODEL_OF(memory_bytes);
	*avail = *total - mem_used(ctx_current()->dev);
	return CUDA_SUCCESS;
}

static CUresult alloc_pitch(CUdeviceptr *ret, size_t *pitch, size_t width, size_t height,
			    unsigned element)
{
	size_t row = (width + 511) & ~(size_t)511;
	CUresult rc;

	/* cuda.h, cuMemAllocPitch: ElementSizeBytes is 4, 8 or 16. */
	if (pitch == NULL || (element != 4 && element != 8 && element != 16))
		return CUDA_ERROR_INVALID_VALUE;
	rc = alloc_to(ret, row * height, B_DEVICE, 0);
	if (rc == CUDA_SUCCESS)
		*pitch = row;
	return rc;
}

static CUresult alloc_managed(CUdeviceptr *ret, size_t n, unsigned flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return alloc_to(ret, n, B_MANAGED, flags);
}

static CUresult device_pointer(CUdeviceptr *ret, void *at, unsigned flags)
{
	const struct block *block = block_find((uintptr_t)at);

	if (ret == NULL || flags != 0 || block == NULL || !block_is_host(block))
		return CUDA_ERROR_INVALID_VALUE;
	*ret = (CUdeviceptr)at;
	return CUDA_SUCCESS;
}

static CUresult host_flags(unsigned *ret, void *at)
{
	const struct block *block = block_find((uintptr_t)at);

	if (ret == NULL || block == NULL || block_on_device(block))
		return CUDA_ERROR_INVALID_VALUE;
	/* With unified addressing every pinned range is mapped (CUDA C Programming Guide). */
	*ret = CU_MEMHOSTALLOC_DEVICEMAP;
	if (block->kind != B_MANAGED)
		*ret |= block->flags & ~(block->kind == B_HOST ? CU_MEMHOSTALLOC_PORTABLE : 0u);
	return CUDA_SUCCESS;
}

static CUresult address_range(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
	const struct block *block = block_find(at);

	/* cuda.h, cuMemGetAddressRange: an unknown pointer is NOT_FOUND. */
	if (block == NULL)
		return CUDA_ERROR_NOT_FOUND;
	if (base != NULL)
		*base = block->base;
	if (bytes != NULL)
		*bytes = block->bytes;
	return CUDA_SUCCESS;
}

static CUresult pointer_attributes(unsigned n, CUpointer_attribute *attributes, void **data,
				   CUdeviceptr at)
{
	bool known;
	CUresult rc = CUDA_SUCCESS;

	if (attributes == NULL || data == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	known = block_find(at) != NULL;
	/*
	 * cuda.h: it "will not return an error when the ptr encountered is not a valid CUDA
	 * pointer.  Instead, the attributes are assigned default NULL values".
	 */
	for (unsigned i = 0; i < n && rc == CUDA_SUCCESS; i++) {
		rc = pointer_clear(data[i], attributes[i]);
		/* The only attribute that driver 580 has for pageable memory. */
		if (rc == CUDA_SUCCESS && !known &&
		    attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
			*(CUdeviceptr *)data[i] = at;
		if (rc == CUDA_SUCCESS && !known &&
		    attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = CU_DEVICE_INVALID;
		if (rc == CUDA_SUCCESS && known)
			pointer_attribute(data[i], attributes[i], at);
	}
	return rc;
}

static CUresult pointer_set(const void *value, CUpointer_attribute attribute, CUdeviceptr at)
{
	struct block *block = block_find(at);

	if (value == NULL || block == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	block->sync_memops = *(const unsigned *)value != 0;
	device_drain(block->dev);
	return CUDA_SUCCESS;
}

static CUresult range_attributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
				 size_t n, CUdeviceptr at, size_t bytes)
{
	CUresult rc = CUDA_SUCCESS;

	if (data == NULL || sizes == NULL || attributes == NULL || n == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n && rc == CUDA_SUCCESS; i++)
		rc = range_attribute(data[i], sizes[i], attributes[i], at, bytes);
	return rc;
}

static CUresult array_create_flat(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	CUDA_ARRAY3D_DESCRIPTOR wide;

	if (desc == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	wide = (CUDA_ARRAY3D_DESCRIPTOR){ .Width = desc->Width,
					  .Height = desc->Height,
					  .Format = desc->Format,
					  .NumChannels = desc->NumChannels };
	return array_create(ret, &wide);
}

static CUresult array_descriptor(CUDA_ARRAY3D_DESCRIPTOR *ret, CUarray handle)
{
	const struct array *array = array_get(handle);

	if (ret == NULL || array == NULL)
		return array == NULL ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE;
	*ret = array->desc;
	return CUDA_SUCCESS;
}

/*
 * A process cannot open its own handle (cuda.h, cuIpcOpenMemHandle), and no other process could
 * open this one.
 */
static CUresult ipc_handle(CUipcMemHandle *ret, CUdeviceptr at)
{
	const struct block *block = block_find(at);

	if (ret == NULL || block == NULL || block->kind != B_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->reserved, &block->base, sizeof(block->base));
	return CUDA_SUCCESS;
}

#include "entry_memory.def"

#define DEV  CU_MEMORYTYPE_DEVICE
#define HOST CU_MEMORYTYPE_HOST
#define UVA  CU_MEMORYTYPE_UNIFIED
#include "entry_copy.def"

#pragma GCC visibility pop
