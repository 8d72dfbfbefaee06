/*
 * libcuda_memory.c - the exported allocation, registration and attribute functions.
 */
#include "bridge.h"

#include <string.h>

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

CUresult cuMemGetInfo_v2(size_t *avail, size_t *total)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (avail == NULL || total == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*total = MODEL_OF(memory_bytes);
	*avail = *total - mem_used(ctx_current()->dev);
	return call_end(CUDA_SUCCESS);
}

CUresult cuMemAlloc_v2(CUdeviceptr *ret, size_t n)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%z", n)
		       ?: call_end(alloc_to(ret, n, B_DEVICE, 0));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *ret, size_t *pitch, size_t width, size_t height,
			    unsigned element)
{
	size_t row = (width + 511) & ~(size_t)511;
	CUresult rc =
		call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%zx%z %u", width, height, element);

	if (rc != CUDA_SUCCESS)
		return rc;
	/* cuda.h, cuMemAllocPitch: ElementSizeBytes is 4, 8 or 16. */
	if (pitch == NULL || (element != 4 && element != 8 && element != 16))
		return call_end(CUDA_ERROR_INVALID_VALUE);
	rc = alloc_to(ret, row * height, B_DEVICE, 0);
	if (rc == CUDA_SUCCESS)
		*pitch = row;
	return call_end(rc);
}

CUresult cuMemAllocManaged(CUdeviceptr *ret, size_t n, unsigned flags)
{
	CUresult rc = call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%z %u", n, flags);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	return call_end(alloc_to(ret, n, B_MANAGED, flags));
}

CUresult cuMemFree_v2(CUdeviceptr at)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%D", at)
		       ?: call_end(mem_free(at, B_DEVICE));
}

CUresult cuMemAllocHost_v2(void **ret, size_t n)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%z", n)
		       ?: call_end(alloc_host(ret, n, 0));
}

CUresult cuMemHostAlloc(void **ret, size_t n, unsigned flags)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%z %u", n, flags)
		       ?: call_end(alloc_host(ret, n, flags));
}

CUresult cuMemFreeHost(void *at)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%H", at)
		       ?: call_end(mem_free((uintptr_t)at, B_HOST));
}

CUresult cuMemHostRegister(void *at, size_t n, unsigned flags)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%H %z %u", at, n, flags)
		       ?: call_end(mem_register(at, n, flags));
}

CUresult cuMemHostRegister_v2(void *at, size_t n, unsigned flags)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%H %z %u", at, n, flags)
		       ?: call_end(mem_register(at, n, flags));
}

CUresult cuMemHostUnregister(void *at)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "%H", at)
		       ?: call_end(mem_unregister(at));
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *ret, void *at, unsigned flags)
{
	const struct block *block;
	CUresult rc = call_begin(__func__, NEED_CTX, "%H %u", at, flags);

	if (rc != CUDA_SUCCESS)
		return rc;
	block = block_find((uintptr_t)at);
	if (ret == NULL || flags != 0 || block == NULL || !block_is_host(block))
		return call_end(CUDA_ERROR_INVALID_VALUE);
	*ret = (CUdeviceptr)at;
	return call_end(CUDA_SUCCESS);
}

CUresult cuMemHostGetFlags(unsigned *ret, void *at)
{
	const struct block *block;
	CUresult rc = call_begin(__func__, NEED_CTX, "%H", at);

	if (rc != CUDA_SUCCESS)
		return rc;
	block = block_find((uintptr_t)at);
	if (ret == NULL || block == NULL || block_on_device(block))
		return call_end(CUDA_ERROR_INVALID_VALUE);
	/* With unified addressing every pinned range is mapped (CUDA C Programming Guide). */
	*ret = CU_MEMHOSTALLOC_DEVICEMAP;
	if (block->kind != B_MANAGED)
		*ret |= block->flags & ~(block->kind == B_HOST ? CU_MEMHOSTALLOC_PORTABLE : 0u);
	return call_end(CUDA_SUCCESS);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *bytes, CUdeviceptr at)
{
	const struct block *block;
	CUresult rc = call_begin(__func__, NEED_CTX, "%D", at);

	if (rc != CUDA_SUCCESS)
		return rc;
	block = block_find(at);
	/* cuda.h, cuMemGetAddressRange: a pointer it does not know is NOT_FOUND. */
	if (block == NULL)
		return call_end(CUDA_ERROR_NOT_FOUND);
	if (base != NULL)
		*base = block->base;
	if (bytes != NULL)
		*bytes = block->bytes;
	return call_end(CUDA_SUCCESS);
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr at)
{
	return call_begin(__func__, NEED_CTX, "%u %D", (unsigned)attribute, at)
		       ?: call_end(pointer_attribute(data, attribute, at));
}

CUresult cuPointerGetAttributes(unsigned n, CUpointer_attribute *attributes, void **data,
				CUdeviceptr at)
{
	bool known;
	CUresult rc = call_begin(__func__, NEED_CTX, "%u %D", n, at);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (attributes == NULL || data == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	known = block_find(at) != NULL;
	/*
	 * cuda.h: it "will not return an error when the ptr encountered is not a valid CUDA
	 * pointer.  Instead, the attributes are assigned default NULL values".
	 */
	for (unsigned i = 0; i < n && rc == CUDA_SUCCESS; i++) {
		rc = pointer_clear(data[i], attributes[i]);
		/* All that driver 580 says of pageable memory. */
		if (rc == CUDA_SUCCESS && !known &&
		    attributes[i] == CU_POINTER_ATTRIBUTE_HOST_POINTER)
			*(CUdeviceptr *)data[i] = at;
		if (rc == CUDA_SUCCESS && !known &&
		    attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = CU_DEVICE_INVALID;
		if (rc == CUDA_SUCCESS && known)
			pointer_attribute(data[i], attributes[i], at);
	}
	return call_end(rc);
}

CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr at)
{
	struct block *block;
	CUresult rc = call_begin(__func__, NEED_CTX, "%u %D", (unsigned)attribute, at);

	if (rc != CUDA_SUCCESS)
		return rc;
	block = block_find(at);
	if (value == NULL || block == NULL || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	block->sync_memops = *(const unsigned *)value != 0;
	device_drain(block->dev);
	return call_end(CUDA_SUCCESS);
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

CUresult cuMemRangeGetAttribute(void *data, size_t size, CUmem_range_attribute attribute,
				CUdeviceptr at, size_t bytes)
{
	return call_begin(__func__, NEED_CTX, "%u %D %z", (unsigned)attribute, at, bytes)
		       ?: call_end(range_attribute(data, size, attribute, at, bytes));
}

CUresult cuMemRangeGetAttributes(void **data, size_t *sizes, CUmem_range_attribute *attributes,
				 size_t n, CUdeviceptr at, size_t bytes)
{
	CUresult rc = call_begin(__func__, NEED_CTX, "%z %D %z", n, at, bytes);

	if (rc != CUDA_SUCCESS)
		return rc;
	if (data == NULL || sizes == NULL || attributes == NULL || n == 0)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	for (size_t i = 0; i < n && rc == CUDA_SUCCESS; i++)
		rc = range_attribute(data[i], sizes[i], attributes[i], at, bytes);
	return call_end(rc);
}

static CUresult advise(CUdeviceptr at, size_t bytes)
{
	const struct block *block = block_find(at);

	if (bytes == 0 || (block == NULL && !engine.hmm) ||
	    (block != NULL && block->kind != B_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUresult cuMemAdvise(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice dev)
{
	return call_begin(__func__, NEED_CTX, "%D %z %u %i", at, bytes, (unsigned)advice, dev)
		       ?: call_end(advise(at, bytes));
}

CUresult cuMemAdvise_v2(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUmemLocation where)
{
	return call_begin(__func__, NEED_CTX, "%D %z %u %i", at, bytes, (unsigned)advice, where.id)
		       ?: call_end(advise(at, bytes));
}

CUresult cuArray3DCreate_v2(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "")
		       ?: call_end(array_create(ret, desc));
}

CUresult cuArrayCreate_v2(CUarray *ret, const CUDA_ARRAY_DESCRIPTOR *desc)
{
	CUDA_ARRAY3D_DESCRIPTOR wide = { 0 };
	CUresult rc = call_begin(__func__, NEED_CTX | NEED_UNSAFE, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	if (desc == NULL)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	wide.Width = desc->Width;
	wide.Height = desc->Height;
	wide.Format = desc->Format;
	wide.NumChannels = desc->NumChannels;
	return call_end(array_create(ret, &wide));
}

CUresult cuArrayDestroy(CUarray array)
{
	return call_begin(__func__, NEED_CTX | NEED_UNSAFE, "") ?: call_end(array_destroy(array));
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *ret, CUarray handle)
{
	const struct array *array;
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	array = array_get(handle);
	if (ret == NULL || array == NULL)
		return call_end(array == NULL ? CUDA_ERROR_INVALID_HANDLE
					      : CUDA_ERROR_INVALID_VALUE);
	*ret = array->desc;
	return call_end(CUDA_SUCCESS);
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *ret, CUarray handle)
{
	const struct array *array;
	CUresult rc = call_begin(__func__, NEED_CTX, "");

	if (rc != CUDA_SUCCESS)
		return rc;
	array = array_get(handle);
	if (ret == NULL || array == NULL)
		return call_end(array == NULL ? CUDA_ERROR_INVALID_HANDLE
					      : CUDA_ERROR_INVALID_VALUE);
	*ret = (CUDA_ARRAY_DESCRIPTOR){ array->desc.Width, array->desc.Height, array->desc.Format,
					array->desc.NumChannels };
	return call_end(CUDA_SUCCESS);
}

/* One process cannot open its own handle (cuda.h, cuIpcOpenMemHandle), and no other could. */
CUresult cuIpcGetMemHandle(CUipcMemHandle *ret, CUdeviceptr at)
{
	const struct block *block;
	CUresult rc = call_begin(__func__, NEED_CTX, "%D", at);

	if (rc != CUDA_SUCCESS)
		return rc;
	block = block_find(at);
	if (ret == NULL || block == NULL || block->kind != B_DEVICE)
		return call_end(CUDA_ERROR_INVALID_VALUE);
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->reserved, &block->base, sizeof(block->base));
	return call_end(CUDA_SUCCESS);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *ret, CUipcMemHandle handle, unsigned flags)
{
	(void)handle;
	return call_begin(__func__, NEED_CTX, "%p %u", ret, flags)
		       ?: call_end(CUDA_ERROR_INVALID_CONTEXT);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
	return call_begin(__func__, NEED_CTX, "%D", at) ?: call_end(CUDA_ERROR_INVALID_VALUE);
}

#pragma GCC visibility pop
