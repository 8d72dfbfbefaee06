/*
 * Mappings of hotpin's own, by system calls.
 *
 * shim/ exports mmap() and its relatives, so calls by those names would return to hotpin.
 * Results and errno are those of libc.  syscall() reads every argument as a long; an int on the
 * stack would leave the upper half undefined, so constants are long.
 */
#ifndef HP_BASE_KERNEL_H
#define HP_BASE_KERNEL_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* x86-64 has no other base pages. */
#define HP_PAGE_BYTES      ((size_t)4096)
/* A huge page of MADV_HUGEPAGE on a system with 4 KiB pages. */
#define HP_HUGE_PAGE_BYTES ((size_t)2 << 20)

/* Maps private anonymous memory, at `address` if `flags` contain MAP_FIXED. */
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

/* Writes one byte for each page, whose lowest bit says whether the page is in memory. */
static inline int hp_in_core(const void *address, size_t bytes, unsigned char *ret_pages)
{
	return (int)syscall(SYS_mincore, address, bytes, ret_pages);
}

/* Moves the mapping to `target`; `flags` are added to MREMAP_FIXED. */
static inline void *hp_remap(void *address, size_t bytes, int flags, void *target)
{
	const int fixed = 1 | 2; /* MREMAP_MAYMOVE, MREMAP_FIXED: named for _GNU_SOURCE only */

	return (void *)syscall(SYS_mremap, address, bytes, bytes, fixed | flags, target);
}

#endif
