/*
 * Allocation sites: which call of the program allocated a block, and how dense its blocks are.
 *
 * A return address and the height of the stack identify a site; the height tells paths through a
 * common wrapper apart ("inferred call path profiling", Mytkowicz, Coughlin and Diwan, OOPSLA
 * 2009).  Walking the stack would take a microsecond and a library that we do not link.
 *
 * The sites are in a table of fixed size.  Every function may run in any thread and under any lock,
 * takes none, and takes some ten nanoseconds.
 */
#ifndef HP_HEAP_SITE_H
#define HP_HEAP_SITE_H

#include "base/hash.h"

#include <stdbool.h>
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

/*
 * Says whether the site's blocks are touched all over by the time of their first copy.  If so,
 * 2 MiB pages cost nothing.
 */
enum site_density {
	SITE_UNKNOWN, /* never seen */
	SITE_SPARSE,  /* not all of the last eight blocks were dense; any block of site 0 */
	SITE_DENSE,
};

/* Returns the density, and the address that site_set_trial() noted; 0: none. */
enum site_density site_density(uint32_t site, uintptr_t *ret_trial);

/* Notes whether one of the site's blocks was dense. */
void site_note_dense(uint32_t site, bool dense);

/* Notes the address of the site's block on trial. */
void site_set_trial(uint32_t site, uintptr_t address);

#endif
