/*
 * Which call of the program's asked for this memory?  Pure but for site_of().
 *
 * A site is told by the return address and by the height of the stack, which differ between paths
 * through a common wrapper as well ("inferred call path profiling", Mytkowicz, Coughlin and Diwan,
 * OOPSLA 2009).  A stack is not walked: that costs a microsecond, needs a library that is not
 * linked, and a program's frames may not bear it.
 */
#ifndef HP_HOST_SITE_H
#define HP_HOST_SITE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The site of an allocation function's caller, from its return address and frame; never 0.  The
 * height counts from the thread pointer, near which the stack of every thread but the first lies:
 * equal threads have equal sites.  Differs from run to run.
 */
static inline uint32_t site_of(const void *return_address, const void *frame)
{
	uint64_t height = (uintptr_t)__builtin_thread_pointer() - (uintptr_t)frame;
	uint64_t mixed = ((uintptr_t)return_address ^ height << 32 ^ height >> 32) *
			 UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t)(mixed >> 32) | 1;
}

/*
 * Were the large blocks (above 256 MiB, 4 KiB pages) that this site has asked for touched all
 * through by the time that they were worth pinning?  Then 2 MiB pages cost it nothing.  False: no,
 * or not known.  Any thread, under any lock; a few loads.
 */
bool site_is_dense(uint32_t site);

#endif
