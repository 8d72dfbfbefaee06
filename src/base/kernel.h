/*
 * The kernel's mappings, asked for past libc.
 *
 * mmap() and its kind are names that shim/ stands in front of: by those names our own requests
 * would come back to us.  Results and errno as libc's.  The last of six arguments is on the stack,
 * where an int would leave the upper half as it was: they are long.
 */
#ifndef HP_BASE_KERNEL_H
#define HP_BASE_KERNEL_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* hotpin does not act on a system with pages of another size (shim/load/start.c). */
#define HP_PAGE_BYTES      ((size_t)4096)
/* What MADV_HUGEPAGE gives: one entry of the level above, with such pages. */
#define HP_HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Private memory of no file; at `address` if MAP_FIXED is among the flags. */
static inline void *hp_map(void *address, size_t bytes, int protection, int flags)
{
	return (void *)syscall(SYS_mmap, address, bytes, protection,
			       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1L, 0L);
}

static inline int hp_unmap(void *address, size_t bytes)
{
	return (int)syscall(SYS_munmap, address, bytes);
}

static inline int hp_protect(void *address, size_t bytes, int protection)
{
	return (int)syscall(SYS_mprotect, address, bytes, protection);
}

static inline int hp_advise(void *address, size_t bytes, int advice)
{
	return (int)syscall(SYS_madvise, address, bytes, advice);
}

/* One byte a page: its lowest bit says whether it is in memory. */
static inline int hp_in_core(const void *address, size_t bytes, unsigned char *ret_pages)
{
	return (int)syscall(SYS_mincore, address, bytes, ret_pages);
}

/* Moves the mapping to `target`; `flags` beside MREMAP_FIXED and what it needs. */
static inline void *hp_remap(void *address, size_t bytes, int flags, void *target)
{
	const int fixed = 1 | 2; /* MREMAP_MAYMOVE, MREMAP_FIXED: named for _GNU_SOURCE only */

	return (void *)syscall(SYS_mremap, address, bytes, bytes, fixed | flags, target);
}

#endif
