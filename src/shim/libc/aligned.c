/*
 * aligned.c - the allocation functions that are told how to align: large blocks from our heap, all
 * others from the next allocator.
 */
#define _GNU_SOURCE
#include "engine/housekeeper.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/allocation.h"
#include "shim/libc/libc.h"

#include <errno.h>
#include <unistd.h>

static bool power_of_two(size_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

HP_EXPORT void *memalign(size_t alignment, size_t bytes)
{
	void *block =
		power_of_two(alignment) ? shim_large(bytes, alignment, false, CALLER()) : NULL;

	if (block != NULL)
		return block;
	if (unlikely(real_libc.memalign == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.memalign(alignment, bytes);
}

HP_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *block =
		power_of_two(alignment) ? shim_large(bytes, alignment, false, CALLER()) : NULL;

	if (block != NULL)
		return block;
	if (unlikely(real_libc.aligned_alloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.aligned_alloc(alignment, bytes);
}

HP_EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	bool valid = power_of_two(alignment) && alignment % sizeof(void *) == 0;
	void *block = valid ? shim_large(bytes, alignment, false, CALLER()) : NULL;

	if (block != NULL) {
		*ret = block;
		return 0;
	}
	if (unlikely(real_libc.posix_memalign == NULL) && !shim_libc_find())
		return ENOMEM;
	return real_libc.posix_memalign(ret, alignment, bytes);
}

HP_EXPORT void *valloc(size_t bytes)
{
	void *block = shim_large(bytes, (size_t)sysconf(_SC_PAGESIZE), false, CALLER());

	if (block != NULL)
		return block;
	if (unlikely(real_libc.valloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.valloc(bytes);
}

HP_EXPORT void *pvalloc(size_t bytes)
{
	void *block = shim_large(bytes, (size_t)sysconf(_SC_PAGESIZE), false, CALLER());

	if (block != NULL)
		return block;
	if (unlikely(real_libc.pvalloc == NULL) && !shim_libc_find())
		return NULL;
	return real_libc.pvalloc(bytes);
}
