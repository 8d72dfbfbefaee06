/*
 * virtual.c - virtual memory management: cuMemAddressReserve, cuMemCreate, cuMemMap.
 *
 * Memory is an unnamed file, so its bytes survive unmapping, and it can be mapped twice.  An
 * address becomes a block when its access is set.
 */
#include "bridge.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULE ((size_t)2 << 20) /* as on an H200 */
#define PIECES  256

struct memory {
	CUmemGenericAllocationHandle handle;
	size_t bytes;
	int fd, dev;
	unsigned refs; /* one for the handle, and one for each mapping */
	bool released;
};

/* A reservation, or a mapping in one. */
static struct piece {
	uintptr_t at;
	size_t bytes;
	struct memory *memory; /* NULL: a reservation */
	bool accessible;
} pieces[PIECES];

static CUresult piece_add(uintptr_t at, size_t bytes, struct memory *memory)
{
	for (int i = 0; i < PIECES; i++)
		if (pieces[i].bytes == 0) {
			pieces[i] = (struct piece){ at, bytes, memory, false };
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* Finds the reservation or mapping that contains the range, or with `touches` any part of it. */
static struct piece *piece_find(uintptr_t at, size_t bytes, bool mapping, bool touches)
{
	for (int i = 0; i < PIECES; i++) {
		struct piece *p = &pieces[i];

		if (p->bytes == 0 || (p->memory != NULL) != mapping)
			continue;
		if (touches ? at < p->at + p->bytes && p->at < at + bytes
			    : at >= p->at && at + bytes <= p->at + p->bytes)
			return p;
	}
	return NULL;
}

uintptr_t reservation(uintptr_t at, size_t *ret_bytes)
{
	const struct piece *p = piece_find(at, 1, false, false);

	*ret_bytes = p->bytes;
	return p->at;
}

static void memory_put(struct memory *memory)
{
	if (--memory->refs > 0)
		return;
	mem_count(memory->dev, memory->bytes, false);
	close(memory->fd);
	free(memory);
}

static struct memory *memory_get(CUmemGenericAllocationHandle handle)
{
	return handle_get(H_MEMORY, (void *)handle);
}

static bool is_granular(size_t a, size_t b)
{
	return a != 0 && (a | b) % GRANULE == 0;
}

static CUresult create(CUmemGenericAllocationHandle *ret, size_t bytes,
		       const CUmemAllocationProp *of, unsigned long long flags)
{
	struct memory *memory;

	if (ret == NULL || of == NULL || flags != 0 || !is_granular(bytes, 0) ||
	    of->type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (of->location.type != CU_MEM_LOCATION_TYPE_DEVICE || of->requestedHandleTypes != 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (of->location.id < 0 || of->location.id >= engine.devices)
		return CUDA_ERROR_INVALID_DEVICE;
	memory = calloc(1, sizeof(*memory));
	if (memory == NULL || !mem_count(of->location.id, bytes, true)) {
		free(memory);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	memory->dev = of->location.id;
	memory->bytes = bytes;
	memory->refs = 1;
	memory->fd = memfd_create("standin-memory", MFD_CLOEXEC);
	if (memory->fd < 0 || ftruncate(memory->fd, (off_t)bytes) != 0)
		abort();
	memory->handle = (CUmemGenericAllocationHandle)handle_new(H_MEMORY, memory);
	*ret = memory->handle;
	return CUDA_SUCCESS;
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
	struct memory *memory = memory_get(handle);

	if (memory == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	handle_free((void *)handle);
	memory_put(memory);
	return CUDA_SUCCESS;
}

static CUresult reserve(CUdeviceptr *ret, size_t bytes, size_t align, unsigned long long flags)
{
	uintptr_t at;

	if (ret == NULL || flags != 0 || !is_granular(bytes, 0) || (align & (align - 1)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	/* First fit after the reserved addresses. */
	at = mem_reserved(GRANULE);
	for (struct piece *p; (p = piece_find(at, bytes, false, true)) != NULL;)
		at = p->at + p->bytes;
	if (mem_reserved_end() - at < bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret = at;
	return piece_add(at, bytes, NULL);
}

static CUresult unreserve(uintptr_t at, size_t bytes)
{
	struct piece *p = piece_find(at, bytes, false, false);

	if (p == NULL || p->at != at || p->bytes != bytes ||
	    piece_find(at, bytes, true, true) != NULL)
		return CUDA_ERROR_INVALID_VALUE;
	p->bytes = 0;
	return CUDA_SUCCESS;
}

static CUresult map(uintptr_t at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
		    unsigned long long flags)
{
	struct memory *memory = memory_get(handle);
	CUresult rc;

	if (memory == NULL || flags != 0 || offset != 0 || !is_granular(bytes, at) ||
	    bytes > memory->bytes || piece_find(at, bytes, false, false) == NULL ||
	    piece_find(at, bytes, true, true) != NULL)
		return CUDA_ERROR_INVALID_VALUE;
	rc = piece_add(at, bytes, memory);
	if (rc == CUDA_SUCCESS)
		memory->refs++;
	return rc;
}

static CUresult set_access(uintptr_t at, size_t bytes, const CUmemAccessDesc *access, size_t count)
{
	struct piece *p = piece_find(at, bytes, true, false);

	if (p == NULL || p->at != at || p->bytes != bytes || access == NULL || count == 0 ||
	    access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		return CUDA_ERROR_INVALID_VALUE;
	if (p->accessible)
		return CUDA_SUCCESS;
	p->accessible = true;
	return mem_map(at, bytes, p->memory->fd, p->memory->dev);
}

/* Observed on an H200: it waits for nothing. */
static CUresult unmap(uintptr_t at, size_t bytes)
{
	struct piece *p = piece_find(at, bytes, true, false);
	struct memory *memory;

	if (p == NULL || p->at != at || p->bytes != bytes)
		return CUDA_ERROR_INVALID_VALUE;
	memory = p->memory;
	if (p->accessible)
		mem_unmap(at);
	p->bytes = 0;
	memory_put(memory);
	return CUDA_SUCCESS;
}

static CUresult granularity(size_t *ret, const CUmemAllocationProp *of)
{
	if (ret == NULL || of == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	*ret = GRANULE;
	return CUDA_SUCCESS;
}

#pragma GCC visibility push(default)

#include "entry_virtual.def"

#pragma GCC visibility pop
