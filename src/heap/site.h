/*
 * Allocation sites: which call of the program allocated a block.
 *
 * A return address and the height of the stack identify a site; the height tells paths through a
 * common wrapper apart ("inferred call path profiling", Mytkowicz, Coughlin and Diwan, OOPSLA
 * 2009).  Walking the stack would take a microsecond and a library that we do not link.
 */
#ifndef HP_HEAP_SITE_H
#define HP_HEAP_SITE_H

#include "base/hash.h"

#include <stdint.h>

/*
 * Returns the site of an allocation function's caller, from its return address and frame; never 0.
 * The height counts from the thread pointer, near which every thread's stack except the first
 * lies, so equal threads have equal sites.  Differs from run to run.
 */
static inline uint32_t site_of(const void *return_address, const void *frame)
{
	uint64_t height = (uintptr_t)__builtin_thread_pointer() - (uintptr_t)frame;

	return (uint32_t)hp_hash((uintptr_t)return_address ^ height << 32 ^ height >> 32, 32) | 1;
}

#endif
