/*
 * mappings.c - the exported functions that change mappings, which may be the heap's.
 *
 * A registration does not follow a mapping that changes: the device would continue with the old
 * pages.  libc's own calls do not come here; they concern libc's memory.
 *
 * All other memory passes after one compare.  These functions are called before every constructor
 * and from inside other allocators.
 */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* it would make mmap() another name of mmap64() */
#include "base/protections.h"
#include "engine/unpin.h"
#include "heap/huge_pages.h"
#include "pin/unpin.h"
#include "pin/use.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/next.h"
#include "stage/move.h"
#include "trace/places/mapped_files.h"
#include "trace/trace.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>

/* Newer than the oldest supported headers: Linux 5.4, 5.14, 6.1. */
#define ADVICE_COLD           20
#define ADVICE_PAGEOUT        21
#define ADVICE_POPULATE_READ  22
#define ADVICE_POPULATE_WRITE 23
#define ADVICE_COLLAPSE       25
#ifndef SYS_process_madvise
#define SYS_process_madvise 440 /* Linux 5.10 */
#endif

/* These functions are inlined, because pin_give_back() takes the frame of the exported one. */
#define INLINED static inline __attribute__((always_inline))

INLINED bool concerns_us(const void *address, size_t bytes)
{
	bool concerns = unlikely(heap_touches(address, bytes)) && hp_keeps(altered_unpinned);

	if (concerns)
		pin_give_back(__builtin_frame_address(0));
	return concerns;
}

/* The mapping changes: a block there is unpinned for good. */
INLINED void changes(const void *address, size_t bytes)
{
	if (concerns_us(address, bytes))
		pin_altered(address, bytes);
}

/* What is mapped there ends, or something else takes its place. */
INLINED void ends(const void *address, size_t bytes)
{
	changes(address, bytes);
	mapped_files_forget(address, bytes);
}

/* Returns what mmap() did. */
INLINED void *note_file(void *mapped, size_t bytes, int flags, int fd)
{
	if (mapped != MAP_FAILED && !(flags & MAP_ANONYMOUS) && trace_wanted())
		mapped_files_note(mapped, bytes, fd);
	return mapped;
}

/* The pages move, which pinned pages cannot.  The contents stay: the block may be pinned again. */
INLINED void moves(const void *address, size_t bytes)
{
	if (concerns_us(address, bytes))
		unpin_range(address, bytes);
}

/*
 * Unknown advice changes the mapping.  Advice that only withdraws earlier advice changes nothing:
 * if there was earlier advice, it has changed the mapping already.
 */
INLINED void is_advised(const void *address, size_t bytes, int advice)
{
	switch (advice) {
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_WILLNEED:
	case MADV_NOHUGEPAGE:
	case MADV_UNMERGEABLE:
	case MADV_DOFORK:
	case MADV_DODUMP:
	case MADV_KEEPONFORK:
	case ADVICE_COLD:
	case ADVICE_POPULATE_READ:
	case ADVICE_POPULATE_WRITE:
		return;
	case MADV_HUGEPAGE:
		if (unlikely(heap_touches(address, bytes)))
			huge_advised(address, bytes);
		return;
	case ADVICE_PAGEOUT:
	case ADVICE_COLLAPSE:
		moves(address, bytes);
		return;
	default:
		changes(address, bytes);
	}
}

/* The heap's pages are readable and writable: that protection only restores them. */
HP_EXPORT int mprotect(void *address, size_t bytes, int protection)
{
	if (protection != (PROT_READ | PROT_WRITE))
		changes(address, bytes);
	return CALL_NEXT(mprotect, address, bytes, protection);
}

HP_EXPORT int pkey_mprotect(void *address, size_t bytes, int protection, int key)
{
	move_keys_are_used();
	changes(address, bytes);
	return CALL_NEXT(pkey_mprotect, address, bytes, protection, key);
}

HP_EXPORT int madvise(void *address, size_t bytes, int advice)
{
	is_advised(address, bytes, advice);
	return CALL_NEXT(madvise, address, bytes, advice);
}

HP_EXPORT int posix_madvise(void *address, size_t bytes, int advice)
{
	if (advice == POSIX_MADV_DONTNEED)
		changes(address, bytes);
	if (HAS_NEXT(posix_madvise))
		return real_libc.posix_madvise(address, bytes, advice);
	/* POSIX does not mean to discard data, and glibc ignores this advice. */
	if (advice == POSIX_MADV_DONTNEED)
		return 0;
	int saved = errno;
	int error = syscall(SYS_madvise, address, bytes, advice) == 0 ? 0 : errno;
	errno = saved;
	return error;
}

/* The descriptor does not say whether it means this process. */
HP_EXPORT ssize_t process_madvise(int process, const struct iovec *ranges, size_t count, int advice,
				  unsigned flags)
{
	for (size_t i = 0; heap_bytes != 0 && ranges != NULL && i < count && i < IOV_MAX; i++)
		is_advised(ranges[i].iov_base, ranges[i].iov_len, advice);
	return syscall(SYS_process_madvise, process, ranges, count, advice, flags);
}

/* 64-bit kernels have one system call for both. */
#define SYS_mmap64 SYS_mmap

HP_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (flags & MAP_FIXED)
		ends(address, bytes);
	return note_file(CALL_NEXT(mmap, address, bytes, protection, flags, fd, offset), bytes,
			 flags, fd);
}

HP_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
		       off64_t offset)
{
	if (flags & MAP_FIXED)
		ends(address, bytes);
	return note_file(CALL_NEXT(mmap64, address, bytes, protection, flags, fd, offset), bytes,
			 flags, fd);
}

HP_EXPORT int munmap(void *address, size_t bytes)
{
	ends(address, bytes);
	return CALL_NEXT(munmap, address, bytes);
}

HP_EXPORT void *mremap(void *address, size_t old_bytes, size_t bytes, int flags, ...)
{
	void *target = NULL;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_list rest;

		va_start(rest, flags);
		target = va_arg(rest, void *);
		va_end(rest);
	}
	ends(address, old_bytes);
	if (flags & MREMAP_FIXED)
		ends(target, bytes);
	return CALL_NEXT(mremap, address, old_bytes, bytes, flags, target);
}

/* libnuma calls this by name.  The kernel applies the policy to future pages at these addresses. */
HP_EXPORT long mbind(void *address, unsigned long bytes, int policy, const unsigned long *nodes,
		     unsigned long nodes_most, unsigned flags)
{
	changes(address, bytes);
	return syscall(SYS_mbind, address, bytes, policy, nodes, nodes_most, (unsigned long)flags);
}

HP_EXPORT long move_pages(int pid, unsigned long count, void **pages, const int *nodes,
			  int *ret_nodes, int flags)
{
	bool here = nodes != NULL && pages != NULL && (pid == 0 || pid == getpid());

	for (unsigned long i = 0; here && heap_bytes != 0 && i < count; i++)
		moves(pages[i], 1);
	return syscall(SYS_move_pages, pid, count, pages, nodes, ret_nodes, (long)flags);
}

/* shmdt() needs no wrapper: only shmat() can map shared memory over a block. */
HP_EXPORT void *shmat(int segment, const void *address, int flags)
{
	struct shmid_ds facts;
	int saved = errno;

	if (flags & SHM_REMAP && shmctl(segment, IPC_STAT, &facts) == 0)
		ends(address, facts.shm_segsz);
	errno = saved;
	return CALL_NEXT(shmat, segment, address, flags);
}

/*
 * Locked pages would stay locked in the free cache and count against the program's limit.  A
 * changed block is mapped again instead.  So munlock() needs no wrapper.
 */
HP_EXPORT int mlock(const void *address, size_t bytes)
{
	changes(address, bytes);
	return CALL_NEXT(mlock, address, bytes);
}

HP_EXPORT int mlock2(const void *address, size_t bytes, unsigned flags)
{
	changes(address, bytes);
	return CALL_NEXT(mlock2, address, bytes, flags);
}
