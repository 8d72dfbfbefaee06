/*
 * Memory, by system calls that keep errno.
 *
 * shim/ exports mmap() and its relatives, so calls by those names would return to hotpin.  Results
 * are those of libc.  syscall() reads every argument as a long; an int on the stack would leave the
 * upper half undefined, so constants are long.
 */
#ifndef HP_BASE_KERNEL_H
#define HP_BASE_KERNEL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* x86-64 has no other base pages. */
#define HP_PAGE_BYTES      ((size_t)4096)
/* A huge page of MADV_HUGEPAGE on a system with 4 KiB pages. */
#define HP_HUGE_PAGE_BYTES ((size_t)2 << 20)

/* As syscall(), but errno is kept. */
#define HP_CALL_KERNEL(...)                            \
	({                                             \
		int hp_saved = errno;                  \
		long hp_result = syscall(__VA_ARGS__); \
		errno = hp_saved;                      \
		hp_result;                             \
	})

/* Maps private anonymous memory, at `address` if `flags` contain MAP_FIXED. */
static inline void *hp_map(void *address, size_t bytes, int protection, int flags)
{
	return (void *)HP_CALL_KERNEL(SYS_mmap, address, bytes, protection,
				      MAP_PRIVATE | MAP_ANONYMOUS | flags, -1L, 0L);
}

static inline int hp_unmap(void *address, size_t bytes)
{
	return (int)HP_CALL_KERNEL(SYS_munmap, address, bytes);
}

static inline int hp_protect(void *address, size_t bytes, int protection)
{
	return (int)HP_CALL_KERNEL(SYS_mprotect, address, bytes, protection);
}

static inline int hp_advise(void *address, size_t bytes, int advice)
{
	return (int)HP_CALL_KERNEL(SYS_madvise, address, bytes, advice);
}

/* Writes one byte for each page, whose lowest bit says whether the page is in memory. */
static inline int hp_in_core(const void *address, size_t bytes, unsigned char *ret_pages)
{
	return (int)HP_CALL_KERNEL(SYS_mincore, address, bytes, ret_pages);
}

/*
 * True if eight bytes at the address can be read: the kernel reads them as a mask of signals before
 * it rejects the operation -1.  Every seccomp filter allows this system call.
 */
static inline bool hp_can_read(const void *address)
{
	int saved = errno;
	bool can = syscall(SYS_rt_sigprocmask, -1L, address, NULL, 8L) < 0 && errno == EINVAL;

	errno = saved;
	return can;
}

/* Moves the pages to `target`; the mapping at `address` stays, and reads as zero. */
static inline void *hp_remap(void *address, size_t bytes, void *target)
{
	/* MREMAP_MAYMOVE, MREMAP_FIXED, MREMAP_DONTUNMAP (Linux 5.7): for _GNU_SOURCE only */
	const int flags = 1 | 2 | 4;

	return (void *)HP_CALL_KERNEL(SYS_mremap, address, bytes, bytes, flags, target);
}

#endif
