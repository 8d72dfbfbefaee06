/*
 * aligned.c - the allocation functions that take an alignment.
 */
#define _GNU_SOURCE
#include "base/kernel.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/first.h"
#include "shim/libc/large.h"

#include <errno.h>

static bool power_of_two(size_t value)
{
	return value != 0 && (value & (value - 1)) == 0;
}

/* `valid`: if the arguments are not, the next allocator's function refuses them. */
#define ALIGNED(name, parameters, arguments, valid, alignment)                                \
	HP_EXPORT void *name parameters                                                       \
	{                                                                                     \
		void *block =                                                                 \
			(valid) ? shim_large_alloc(bytes, alignment, false, CALLER()) : NULL; \
                                                                                              \
		if (block != NULL)                                                            \
			return block;                                                         \
		if (unlikely(real_libc.name == NULL) && !shim_libc_find())                    \
			return NULL;                                                          \
		return real_libc.name arguments;                                              \
	}
ALIGNED(memalign, (size_t alignment, size_t bytes), (alignment, bytes), power_of_two(alignment),
	alignment)
ALIGNED(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes),
	power_of_two(alignment), alignment)
ALIGNED(valloc, (size_t bytes), (bytes), true, HP_PAGE_BYTES)
ALIGNED(pvalloc, (size_t bytes), (bytes), true, HP_PAGE_BYTES)
#undef ALIGNED

HP_EXPORT int posix_memalign(void **ret, size_t alignment, size_t bytes)
{
	bool valid = power_of_two(alignment) && alignment % sizeof(void *) == 0;
	void *block = valid ? shim_large_alloc(bytes, alignment, false, CALLER()) : NULL;

	if (block != NULL) {
		*ret = block;
		return 0;
	}
	if (unlikely(real_libc.posix_memalign == NULL) && !shim_libc_find())
		return ENOMEM;
	return real_libc.posix_memalign(ret, alignment, bytes);
}
