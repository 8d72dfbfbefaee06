/*
 * stageable.c - queries the driver about both sides of a copy.
 *
 * A thread caches host ranges that the driver knows, because a query costs as much as a copy.
 */
#include "stage/stageable.h"
#include "base/counters.h"
#include "base/kernel.h"
#include "base/parse.h"
#include "base/protections.h"
#include "base/thread_memory.h"
#include "real/contexts.h"

#include <errno.h>

/* True if a context is current, and the stream of an asynchronous copy belongs to it. */
static bool has_context(CUstream stream, CUcontext *ret)
{
	return REAL(cuCtxGetCurrent)(ret) == CUDA_SUCCESS && *ret != NULL &&
	       (stream == NULL || contexts_has_stream(*ret, stream));
}

/*
 * True if the range is mapped.  For an address of mapped memory, the driver returns the size of the
 * whole reservation (H200, driver 580.159).  cuMemGetAddressRange() returns the mapping itself, and
 * several mappings may adjoin.
 */
static bool is_mapped(CUdeviceptr at, size_t extent)
{
	CUdeviceptr base = 0, end = at + extent;

	for (size_t bytes = 0; at < end; at = base + bytes)
		if (REAL(cuMemGetAddressRange_v2)(&base, &bytes, at) != CUDA_SUCCESS ||
		    base + bytes <= at)
			return false;
	return true;
}

/* The driver's attributes of the device side. */
struct answer {
	CUmemorytype type;
	CUcontext of;     /* NULL: memory of a pool or a mapping */
	unsigned managed; /* a bool is written, in one byte or in four */
	CUdeviceptr base;
	size_t bytes;
};

static bool ask(CUdeviceptr device, struct answer *ret)
{
	CUpointer_attribute names[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
	};
	void *values[] = { &ret->type, &ret->of, &ret->managed, &ret->base, &ret->bytes };

	*ret = (struct answer){ 0 };
	hp_count(asked_pointer);
	return REAL(cuPointerGetAttributes)(HP_LEN(names), names, values, device) == CUDA_SUCCESS;
}

static bool is_within(CUdeviceptr device, size_t extent, const struct answer *answer)
{
	size_t before = device - answer->base;

	return device >= answer->base && before <= answer->bytes &&
	       extent <= answer->bytes - before &&
	       (answer->of != NULL || !hp_keeps(staged_in_mappings) || is_mapped(device, extent));
}

/*
 * Ranges of host memory that the driver knows.  A query for each copy would take as long as
 * enqueueing one.
 */
struct known {
	uintptr_t base;
	size_t bytes;
	unsigned uses;
};

#define KNOWN_MOST 32
#define USES_MOST  256 /* then asks the driver again */

static struct hp_thread_memory ranges = { .bytes = KNOWN_MOST * sizeof(struct known) };
static __thread struct known *known __attribute__((tls_model("initial-exec"))); /* NULL: none */

bool stage_was_registered(const void *host)
{
	for (size_t i = 0; known != NULL && i < KNOWN_MOST; i++)
		if ((uintptr_t)host - known[i].base < known[i].bytes && ++known[i].uses < USES_MOST)
			return true;
	return false;
}

static void remember(uintptr_t base, size_t bytes)
{
	if (known == NULL && (known = hp_thread_memory_take(&ranges)) == NULL)
		return;
	struct known *oldest = &known[0];
	for (size_t i = 0; i < KNOWN_MOST; i++) {
		if (known[i].base == base)
			known[i].bytes = 0;
		if (oldest->bytes != 0 && (known[i].bytes == 0 || known[i].uses > oldest->uses))
			oldest = &known[i];
	}
	*oldest = (struct known){ base, bytes, 0 };
}

static bool is_registered(const void *host)
{
	CUmemorytype type = 0;
	CUdeviceptr base = 0;
	size_t bytes = 0;
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
					CU_POINTER_ATTRIBUTE_RANGE_SIZE };
	void *values[] = { &type, &base, &bytes };

	hp_count(asked_pointer);
	if (REAL(cuPointerGetAttributes)(HP_LEN(names), names, values, (CUdeviceptr)host) !=
	    CUDA_SUCCESS)
		return true;
	if (type != 0)
		remember(base, bytes);
	return type != 0;
}

/* True if the device side is memory of this context.  Pools and mappings name no context. */
static bool may_cut(CUdeviceptr device, size_t extent, CUstream stream)
{
	CUcontext context = NULL;
	struct answer answer;

	return has_context(stream, &context) && ask(device, &answer) &&
	       answer.type == CU_MEMORYTYPE_DEVICE &&
	       (answer.managed == 0 || !hp_keeps(staged_not_managed)) &&
	       (answer.of == NULL || answer.of == context) && is_within(device, extent, &answer);
}

bool stage_is_possible(const struct stage_copy *copy)
{
	size_t extent = shape_extent(&copy->shape);
	CUcontext context = NULL;

	/* If one call fills staging memory, the driver itself checks the device side. */
	return (uintptr_t)copy->host + extent >= (uintptr_t)copy->host &&
	       (stage_is_one_call(copy)
			? has_context(copy->stream, &context)
			: may_cut(copy->device, shape_bytes(&copy->shape), copy->stream)) &&
	       (copy->host_is_taken || !is_registered(copy->host) ||
		!hp_keeps(staged_not_registered));
}

bool stage_is_untouched(const void *address, size_t bytes)
{
	enum { SAMPLES = 4 };
	int saved = errno;
	bool untouched = true;

	/* Not the first or last page: a neighbor or an allocator may have touched them. */
	for (size_t i = 1; i <= SAMPLES && untouched; i++) {
		uintptr_t at = ((uintptr_t)address + bytes / (SAMPLES + 1) * i) & -HP_PAGE_BYTES;
		unsigned char there = 1;

		untouched = syscall(SYS_mincore, at, 1, &there) == 0 && (there & 1) == 0;
	}
	errno = saved;
	return untouched;
}
