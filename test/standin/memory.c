/*
 * memory.c - addresses that the device knows.
 *
 * Device pointers are in a reserved, inaccessible range, so a program that dereferences one faults;
 * the bytes are kept in a second range at the same offset.  Managed and pinned memory has the same
 * address on both sides, as with unified addressing.  New device memory is filled with 0xCD at both
 * ends, and guard bytes follow each block.
 */
#include "engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA ((size_t)1 << 36)
#define ALIGN ((size_t)512)
#define GUARD ((size_t)512)
#define FRESH ((size_t)64 << 10)
#define HUGE  ((size_t)2 << 20)
#define KEPT  ((size_t)64 << 20) /* of device memory, which keeps its pages when it is freed */

size_t registered_bytes;
static size_t pinned_bytes; /* registered, or allocated */
int registrations, guard_errors;

static struct block **blocks; /* by base */
static size_t count, room;
static uintptr_t arena;
static size_t arena_room;
static unsigned char *arena_bytes;
static unsigned serials;
static size_t used[8];

/* Returns the index of the first block that ends after `at`. */
static size_t index_of(uintptr_t at)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (blocks[middle]->base + blocks[middle]->bytes > at)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

struct block *block_find(uintptr_t at)
{
	size_t i = index_of(at);

	return i < count && blocks[i]->base <= at ? blocks[i] : NULL;
}

bool block_is_host(const struct block *block)
{
	return block->kind == B_HOST || block->kind == B_REGISTERED;
}

bool block_on_device(const struct block *block)
{
	return block->kind == B_DEVICE || block->kind == B_ARRAY || block->kind == B_MAPPED;
}

void *block_host(const struct block *block, uintptr_t at)
{
	return block_on_device(block) ? arena_bytes + (at - arena) : (void *)at;
}

size_t block_room(const struct block *block, uintptr_t at)
{
	size_t i = index_of(block->base), bytes = block->base + block->bytes - at;

	while (block->kind == B_MAPPED && ++i < count && blocks[i]->kind == B_MAPPED &&
	       blocks[i]->base == at + bytes)
		bytes += blocks[i]->bytes;
	return bytes;
}

size_t mem_used(int dev)
{
	return used[dev];
}

static bool is_pinned(enum block_kind kind)
{
	return kind == B_HOST || kind == B_REGISTERED;
}

/* Returns NULL, too, if there is no more memory of the kind. */
static struct block *insert(uintptr_t base, size_t bytes, enum block_kind kind, unsigned flags)
{
	size_t i = index_of(base);

	if (is_pinned(kind) && engine.pinned_most != 0 && pinned_bytes + bytes > engine.pinned_most)
		return NULL;
	struct block *block = calloc(1, sizeof(*block));

	if (count == room) {
		size_t more = room * 2 + 64;
		struct block **wider = realloc(blocks, more * sizeof(*blocks));

		if (wider == NULL) {
			free(block);
			return NULL;
		}
		blocks = wider;
		room = more;
	}
	if (block == NULL)
		return NULL;
	memmove(blocks + i + 1, blocks + i, (count - i) * sizeof(*blocks));
	blocks[i] = block;
	count++;
	*block = (struct block){ .base = base,
				 .bytes = bytes,
				 .kind = kind,
				 .flags = flags,
				 .serial = ++serials,
				 .ctx = ctx_current(),
				 .dev = ctx_current() != NULL ? ctx_current()->dev : 0,
				 .sync_memops = kind == B_MANAGED,
				 .pin = -1 };
	if (is_pinned(kind))
		pinned_bytes += bytes;
	return block;
}

static void drop(struct block *block)
{
	size_t i = index_of(block->base);

	memmove(blocks + i, blocks + i + 1, (count - i - 1) * sizeof(*blocks));
	count--;
	if (is_pinned(block->kind))
		pinned_bytes -= block->bytes;
	free(block);
}

static size_t padded(size_t bytes)
{
	return (bytes + ALIGN - 1) / ALIGN * ALIGN + GUARD;
}

static void *map(size_t bytes, int protection)
{
	return mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* valgrind leaves fewer addresses. */
static bool arena_open(void)
{
	if (arena != 0)
		return true;
	for (size_t most = ARENA; most >= ARENA / 64; most /= 4) {
		void *reserved = map(most, PROT_NONE), *bytes = map(most, PROT_READ | PROT_WRITE);

		if (reserved != MAP_FAILED && bytes != MAP_FAILED) {
			arena = (uintptr_t)reserved;
			arena_bytes = bytes;
			arena_room = most;
			/* A child has no use of it, and fork() would copy its page tables. */
			madvise(bytes, most, MADV_DONTFORK);
			return true;
		}
		if (reserved != MAP_FAILED)
			munmap(reserved, most);
	}
	return false;
}

/*
 * First fit, so that addresses are reused immediately.  The first page is never used; the upper
 * half is for reservations.
 */
static uintptr_t arena_take(size_t bytes)
{
	uintptr_t at = arena + 4096;

	for (size_t i = index_of(at); i < count && block_on_device(blocks[i]); i++) {
		if (blocks[i]->base - at >= padded(bytes))
			break;
		at = blocks[i]->base + padded(blocks[i]->bytes);
	}
	return at + padded(bytes) <= arena + arena_room / 2 ? at : 0;
}

static CUresult alloc_device(uintptr_t *ret, size_t bytes, enum block_kind kind, unsigned flags)
{
	size_t ends = bytes < FRESH ? bytes : FRESH;
	unsigned char *host;
	uintptr_t at;

	if (!arena_open())
		return CUDA_ERROR_OUT_OF_MEMORY;
	at = arena_take(bytes);
	if (at == 0 || insert(at, bytes, kind, flags) == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	host = arena_bytes + (at - arena);
	/* The kernel is slow with many small pages. */
	if (bytes >= HUGE) {
		uintptr_t first = (uintptr_t)host & ~(HUGE - 1);
		uintptr_t end = ((uintptr_t)host + bytes + HUGE - 1) & ~(HUGE - 1);

		if (first < (uintptr_t)arena_bytes)
			first = (uintptr_t)arena_bytes;
		madvise((void *)first, end - first, MADV_HUGEPAGE);
	}
	memset(host, 0xCD, ends);
	memset(host + bytes - ends, 0xCD, ends);
	memset(host + bytes, 0xA5, padded(bytes) - bytes);
	*ret = at;
	return CUDA_SUCCESS;
}

uintptr_t mem_reserved(size_t align)
{
	return arena_open() ? (arena + arena_room / 2 + align - 1) / align * align : 0;
}

uintptr_t mem_reserved_end(void)
{
	return arena + arena_room;
}

bool mem_count(int dev, size_t bytes, bool more)
{
	if (more && bytes > MODEL_OF(memory_bytes) - used[dev])
		return false;
	used[dev] += more ? bytes : -bytes;
	return true;
}

CUresult mem_map(uintptr_t at, size_t bytes, int fd, int dev)
{
	struct block *block = insert(at, bytes, B_MAPPED, 0);

	if (block == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	block->ctx = NULL; /* it belongs to no context */
	block->dev = dev;
	if (mmap(block_host(block, at), bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		 0) == MAP_FAILED)
		abort();
	return CUDA_SUCCESS;
}

void mem_unmap(uintptr_t at)
{
	struct block *block = block_find(at);

	if (mmap(block_host(block, at), block->bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		abort();
	drop(block);
}

static CUresult alloc_shared(uintptr_t *ret, size_t bytes, enum block_kind kind, unsigned flags)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (insert((uintptr_t)at, bytes, kind, flags) == NULL) {
		munmap(at, bytes);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret = (uintptr_t)at;
	return CUDA_SUCCESS;
}

CUresult mem_alloc(uintptr_t *ret, size_t bytes, enum block_kind kind, unsigned flags)
{
	int dev = ctx_current()->dev;
	CUresult rc;

	if (ret == NULL || (bytes == 0 && kind != B_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes == 0) {
		*ret = 0;
		return CUDA_SUCCESS;
	}
	if (kind != B_HOST && (bytes > MODEL_OF(memory_bytes) - used[dev]))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (kind == B_HOST)
		clock_spend(model_time(bytes, MODEL_OF(hostalloc_bytes_per_us)));
	else
		clock_spend(MODEL_OF(alloc_ns));
	if (kind == B_DEVICE || kind == B_ARRAY)
		rc = alloc_device(ret, bytes, kind, flags);
	else
		rc = alloc_shared(ret, bytes, kind, flags);
	if (rc == CUDA_SUCCESS && kind != B_HOST)
		used[dev] += bytes;
	return rc;
}

static void release(struct block *block)
{
	size_t bytes = block->bytes, gap = padded(bytes) - bytes;

	if (block->kind == B_REGISTERED) {
		pin_drop(block->pin);
		registered_bytes -= bytes;
		portable_count(block, false);
		registrations--;
	} else if (!block_on_device(block)) {
		munmap((void *)block->base, bytes);
	} else {
		unsigned char *host = block_host(block, block->base);

		for (size_t i = 0; i < gap; i++)
			if (host[bytes + i] != 0xA5) {
				fprintf(stderr, "standin: written %zu bytes past device block %u\n",
					i, block->serial);
				guard_errors++;
				break;
			}
		/* A stale pointer must not find the old data. */
		uintptr_t first = ((uintptr_t)host + 4095) & ~(uintptr_t)4095;
		uintptr_t end = (uintptr_t)(host + bytes) & ~(uintptr_t)4095;

		if (!engine.lean && end <= (uintptr_t)arena_bytes + KEPT) {
			/* Filling is faster than a fault for each page of the next block. */
			memset(host, 0xDB, bytes);
		} else {
			if (first < end)
				madvise((void *)first, end - first, MADV_DONTNEED);
			memset(host, 0xDB, bytes < FRESH ? bytes : FRESH);
		}
	}
	if (!block_is_host(block))
		used[block->dev] -= bytes;
	drop(block);
}

/* Frees without waiting, in stream order: the operation of cuMemFreeAsync. */
CUresult mem_free_now(uintptr_t at)
{
	struct block *block = block_find(at);

	if (block == NULL || block->base != at || block->kind != B_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	release(block);
	return CUDA_SUCCESS;
}

CUresult mem_free(uintptr_t at, enum block_kind kind)
{
	struct block *block = block_find(at);

	if (at == 0)
		return CUDA_SUCCESS;
	if (block == NULL || block->base != at ||
	    (block->kind != kind && !(kind == B_DEVICE && block->kind == B_MANAGED)))
		return CUDA_ERROR_INVALID_VALUE;
	/* cuda.h, cuMemFree: "may perform implicit synchronization"; cuMemFreeHost does as well. */
	device_drain(block->dev);
	block = block_find(at);
	if (block == NULL)
		return CUDA_ERROR_INVALID_VALUE;
	release(block);
	return CUDA_SUCCESS;
}

CUresult mem_register(void *at, size_t bytes, unsigned flags)
{
	uintptr_t base = (uintptr_t)at;
	struct block *block;
	unsigned char resident;
	bool fault;
	size_t i = index_of(base);
	int pin;

	/* There is no I/O memory here. */
	if (at == NULL || bytes == 0 || base + bytes < base || (flags & ~0xbu) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (i < count && blocks[i]->base < base + bytes)
		return blocks[i]->kind == B_REGISTERED ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
						       : CUDA_ERROR_INVALID_VALUE;
	clock_spend(MODEL_OF(register_ns) + model_time(bytes, MODEL_OF(register_bytes_per_us)));
	if (mincore((void *)(base & ~(uintptr_t)4095), 1, &resident) != 0 && errno == ENOMEM)
		return CUDA_ERROR_INVALID_VALUE;
	pin = pin_take(base, bytes, &fault);
	/* Read-only and missing pages cannot be pinned for writing. */
	if (fault && !(flags & CU_MEMHOSTREGISTER_READ_ONLY))
		return CUDA_ERROR_INVALID_VALUE;
	block = insert(base, bytes, B_REGISTERED, flags);
	if (block == NULL) {
		pin_drop(pin);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	block->pin = pin;
	registered_bytes += bytes;
	portable_count(block, true);
	registrations++;
	return CUDA_SUCCESS;
}

CUresult mem_unregister(void *at)
{
	struct block *block = block_find((uintptr_t)at);

	if (block == NULL && at != NULL)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	if (block == NULL || block->base != (uintptr_t)at || block->kind != B_REGISTERED)
		return CUDA_ERROR_INVALID_VALUE;
	/* Measured on an H200: it waits for every running kernel, and delays other threads. */
	clock_spend(model_time(block->bytes, MODEL_OF(unregister_bytes_per_us)));
	engine.unregistering++;
	device_drain(block->dev);
	engine.unregistering--;
	block = block_find((uintptr_t)at);
	if (block == NULL || block->kind != B_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	release(block);
	return CUDA_SUCCESS;
}

/* Frees everything that a context allocated, and ends its registrations. */
void mem_drop_ctx(struct ctx *ctx)
{
	for (size_t i = count; i-- > 0;)
		if (blocks[i]->ctx == ctx)
			release(blocks[i]);
}

CUresult array_create(CUarray *ret, const CUDA_ARRAY3D_DESCRIPTOR *desc)
{
	struct array *array;
	uintptr_t at;
	size_t element;
	CUresult rc;

	if (ret == NULL || desc == NULL || desc->Width == 0)
		return CUDA_ERROR_INVALID_VALUE;
	switch (desc->Format) {
	case CU_AD_FORMAT_UNSIGNED_INT8:
	case CU_AD_FORMAT_SIGNED_INT8:
		element = 1;
		break;
	case CU_AD_FORMAT_UNSIGNED_INT16:
	case CU_AD_FORMAT_SIGNED_INT16:
	case CU_AD_FORMAT_HALF:
		element = 2;
		break;
	case CU_AD_FORMAT_UNSIGNED_INT32:
	case CU_AD_FORMAT_SIGNED_INT32:
	case CU_AD_FORMAT_FLOAT:
		element = 4;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (desc->NumChannels != 1 && desc->NumChannels != 2 && desc->NumChannels != 4)
		return CUDA_ERROR_INVALID_VALUE;
	array = calloc(1, sizeof(*array));
	if (array == NULL)
		return CUDA_ERROR_OUT_OF_MEMORY;
	array->desc = *desc;
	array->pitch = desc->Width * element * desc->NumChannels;
	array->rows = desc->Height != 0 ? desc->Height : 1;
	array->layers = desc->Depth != 0 ? desc->Depth : 1;
	rc = mem_alloc(&at, array->pitch * array->rows * array->layers, B_ARRAY, 0);
	if (rc != CUDA_SUCCESS) {
		free(array);
		return rc;
	}
	array->block = block_find(at);
	array->handle = handle_new(H_ARRAY, array);
	*ret = array->handle;
	return CUDA_SUCCESS;
}

struct array *array_get(CUarray handle)
{
	return handle_get(H_ARRAY, handle);
}

CUresult array_destroy(CUarray handle)
{
	struct array *array = array_get(handle);

	if (array == NULL)
		return CUDA_ERROR_INVALID_HANDLE;
	device_drain(array->block->dev);
	release(array->block);
	handle_free(handle);
	free(array);
	return CUDA_SUCCESS;
}
