/*
 * device.c - steps with device memory of every kind: allocation, release, and arrays.
 *
 * A buffer may come from cuMemAlloc(), from a pool in stream order, or span two mappings of memory
 * from cuMemCreate().
 */
#include "walk.h"

#define GRANULE (2 * MIB)

struct buffer *some_device(int context)
{
	size_t slot = below(DEVICES);

	for (size_t i = 0; i < DEVICES; i++) {
		struct buffer *b = &p.device[(slot + i) % DEVICES];

		if (b->where != W_NOWHERE && b->context == context)
			return b;
	}
	return NULL;
}

static bool by_alloc(struct buffer *b)
{
	return SAY(cu[0].cuMemAlloc_v2(&b->there, b->bytes), "d%d = cuMemAlloc(%zu)", b->number,
		   b->bytes) == CUDA_SUCCESS;
}

static bool by_pool(struct buffer *b, const struct target *to)
{
	return SAY(cu[to->flavor].cuMemAllocAsync(&b->there, b->bytes, to->handle),
		   "d%d = cuMemAllocAsync(%zu, %s l%d)", b->number, b->bytes, to->name,
		   to->line) == CUDA_SUCCESS;
}

/* Maps separate memory into each half of the addresses; the buffer is in the middle. */
static bool by_mapping(struct buffer *b)
{
	CUmemAllocationProp of = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				   .location.type = CU_MEM_LOCATION_TYPE_DEVICE };
	CUmemAccessDesc access = { .location = of.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	size_t total = (b->bytes + GRANULE - 1) / GRANULE * GRANULE + GRANULE;
	size_t half = total / 2 / GRANULE * GRANULE, at[3] = { 0, half, total };

	if (SAY(cu[0].cuMemAddressReserve(&b->reserved, total, 0, 0, 0),
		"d%d = cuMemAddressReserve(%zu)", b->number, total) != CUDA_SUCCESS)
		return false;
	for (int i = 0; i < 2; i++) {
		size_t bytes = at[i + 1] - at[i];

		if (SAY(cu[0].cuMemCreate(&b->memory[i], bytes, &of, 0), "cuMemCreate(%zu)",
			bytes) != CUDA_SUCCESS ||
		    SAY(cu[0].cuMemMap(b->reserved + at[i], bytes, 0, b->memory[i], 0),
			"cuMemMap(d%d, %zu)", b->number, bytes) != CUDA_SUCCESS ||
		    SAY(cu[0].cuMemSetAccess(b->reserved + at[i], bytes, &access, 1),
			"cuMemSetAccess(d%d, %zu)", b->number, bytes) != CUDA_SUCCESS)
			fail("memory that cannot be mapped");
	}
	b->there = b->reserved + ((total - b->bytes) / 2 & ~(size_t)511);
	return true;
}

static void unmap(struct buffer *b)
{
	size_t total = (b->bytes + GRANULE - 1) / GRANULE * GRANULE + GRANULE;
	size_t half = total / 2 / GRANULE * GRANULE;
	bool early = one_in(2);

	for (int i = 0; i < 2; i++) {
		if (early)
			SAY(cu[0].cuMemRelease(b->memory[i]), "cuMemRelease(d%d)", b->number);
		SAY(cu[0].cuMemUnmap(b->reserved + (i == 0 ? 0 : half),
				     i == 0 ? half : total - half),
		    "cuMemUnmap(d%d)", b->number);
		if (!early)
			SAY(cu[0].cuMemRelease(b->memory[i]), "cuMemRelease(d%d)", b->number);
	}
	SAY(cu[0].cuMemAddressFree(b->reserved, total), "cuMemAddressFree(d%d)", b->number);
}

static void device_new(struct buffer *b)
{
	static const enum how hows[] = {
		BY_ALLOC, BY_ALLOC, BY_ALLOC, BY_ALLOC, BY_POOL, BY_MAPPING
	};
	unsigned generation = b->generation;
	unsigned char value = (unsigned char)below(256);
	struct target to;
	bool got;

	*b = (struct buffer){ .number = b->number, .context = my_context() };
	b->generation = generation + 1;
	b->bytes = buffer_size();
	b->defined = true;
	b->how = hows[below(sizeof(hows) / sizeof(*hows))];
	to = b->how == BY_POOL ? some_target() : sync_target(0);
	got = b->how == BY_ALLOC  ? by_alloc(b)
	      : b->how == BY_POOL ? by_pool(b, &to)
				  : by_mapping(b);
	if (!got)
		return;
	b->where = W_DEVICE;
	if (b->how == BY_POOL)
		SAY(cu[to.flavor].cuMemsetD8Async(b->there, value, b->bytes, to.handle),
		    "cuMemsetD8Async(d%d, .., %zu, %s l%d)", b->number, b->bytes, to.name, to.line);
	else
		SAY(cu[0].cuMemsetD8_v2(b->there, value, b->bytes), "cuMemsetD8(d%d, .., %zu)",
		    b->number, b->bytes);
	access_add(b, to.line, line_push(to.line), 0, b->bytes, true);
}

/* Frees in the order of a stream, which waits for all accesses of the memory. */
static bool free_in_order(struct buffer *b)
{
	struct target to = some_target();

	if (b->how != BY_POOL || b->context != my_context() || p.frozen || one_in(3) ||
	    !line_may(&to, b, 0, b->bytes, true))
		return false;
	SAY(cu[to.flavor].cuMemFreeAsync(b->there, to.handle), "cuMemFreeAsync(d%d, %s l%d)",
	    b->number, to.name, to.line);
	line_push(to.line);
	return true;
}

/* cuMemFree() waits by itself in every driver that was tried, and programs rely on it. */
void device_drop(struct buffer *b)
{
	bool other = b->context != my_context();

	if (!free_in_order(b)) {
		if ((b->how != BY_ALLOC || one_in(2)) && !buffer_idle(b))
			return;
		if (other)
			cu[0].cuCtxPushCurrent_v2(p.context[b->context]);
		if (b->how == BY_MAPPING)
			unmap(b);
		else
			SAY(cu[0].cuMemFree_v2(b->there), "cuMemFree(d%d)", b->number);
		if (other)
			cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL });
	}
	b->where = W_NOWHERE;
	b->accesses = 0;
}

void step_device_new(void)
{
	struct buffer *b = &p.device[below(DEVICES)];

	if (p.frozen)
		return;
	if (b->where != W_NOWHERE && one_in(3))
		device_drop(b);
	if (b->where == W_NOWHERE)
		device_new(b);
}

void step_device_free(void)
{
	struct buffer *b = &p.device[below(DEVICES)];

	if (b->where != W_NOWHERE && !p.frozen)
		device_drop(b);
}

/* ---- arrays ---- */

/* Creates a row of bytes, or rows; contents are written before they are read. */
static void array_new(struct buffer *b)
{
	CUDA_ARRAY_DESCRIPTOR shape = { .Format = CU_AD_FORMAT_UNSIGNED_INT8, .NumChannels = 1 };
	static unsigned char zeros[64 * KIB];
	struct target to = sync_target(0);

	*b = (struct buffer){ .number = b->number, .context = my_context() };
	b->rows = one_in(2) ? 0 : 1 + below(32);
	shape.Width = b->rows == 0 ? some_size(64, 64 * KIB) : some_size(16, 2 * KIB);
	shape.Height = b->rows;
	b->bytes = shape.Width * (b->rows == 0 ? 1 : b->rows);
	b->width = shape.Width;
	b->defined = true;
	if (SAY(cu[0].cuArrayCreate_v2(&b->array, &shape), "a%d = cuArrayCreate(%zu, %zu)",
		b->number, shape.Width, shape.Height) != CUDA_SUCCESS)
		return;
	b->where = W_ARRAY;
	CUDA_MEMCPY2D c = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			    .srcHost = zeros,
			    .srcPitch = b->width,
			    .dstMemoryType = CU_MEMORYTYPE_ARRAY,
			    .dstArray = b->array,
			    .WidthInBytes = b->width,
			    .Height = b->rows == 0 ? 1 : b->rows };
	SAY(cu[0].cuMemcpy2D_v2(&c), "cuMemcpy2D(a%d, zeros)", b->number);
	access_add(b, to.line, line_push(to.line), 0, b->bytes, true);
}

void array_drop(struct buffer *b)
{
	bool other = b->context != my_context();

	if (!buffer_idle(b))
		return;
	if (other)
		cu[0].cuCtxPushCurrent_v2(p.context[b->context]);
	SAY(cu[0].cuArrayDestroy(b->array), "cuArrayDestroy(a%d)", b->number);
	if (other)
		cu[0].cuCtxPopCurrent_v2(&(CUcontext){ NULL });
	b->where = W_NOWHERE;
	b->accesses = 0;
}

struct buffer *some_array(void)
{
	struct buffer *b = &p.array[below(ARRAYS)];

	if (p.frozen)
		return NULL;
	if (b->where != W_NOWHERE && one_in(8))
		array_drop(b);
	if (b->where == W_NOWHERE)
		array_new(b);
	return b->where != W_NOWHERE && b->context == my_context() ? b : NULL;
}
