/*
 * stageable.c - queries the driver about both sides of a copy.
 */
#include "stage/stageable.h"
#include "base/counters.h"
#include "base/parse.h"
#include "base/protections.h"
#include "real/contexts.h"

#include <stdatomic.h>

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

#define KNOWN_MOST 32
#define USES_MOST  256 /* then asks the driver again */

/*
 * Ranges of host memory that the driver knows.  A query for each copy would take as long as
 * enqueueing one.  Any thread; a range that two threads write at once may be wrong.
 */
static struct known {
	_Atomic uintptr_t base;
	_Atomic size_t bytes;
	_Atomic unsigned uses;
} known[KNOWN_MOST];

bool stage_was_registered(const void *host)
{
	for (struct known *range = known; range < known + KNOWN_MOST; range++)
		if ((uintptr_t)host - atomic_load_explicit(&range->base, memory_order_relaxed) <
			    atomic_load_explicit(&range->bytes, memory_order_relaxed) &&
		    atomic_fetch_add_explicit(&range->uses, 1, memory_order_relaxed) < USES_MOST)
			return true;
	return false;
}

/* Replaces the oldest range. */
static void remember(uintptr_t base, size_t bytes)
{
	static _Atomic unsigned count;
	struct known *oldest = &known[atomic_fetch_add(&count, 1) % KNOWN_MOST];

	atomic_store(&oldest->base, base);
	atomic_store(&oldest->bytes, bytes);
	atomic_store(&oldest->uses, 0);
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
