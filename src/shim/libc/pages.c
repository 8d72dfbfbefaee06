/*
 * pages.c - what the program asks of the kernel about memory that may be the heap's.
 *
 * A registration does not follow a mapping that changes under it: the device would go on with the
 * pages that were there before.  libc's own calls do not come here and need not: they concern
 * memory that is libc's.
 *
 * Everything else goes straight on after one compare.  Called before every constructor and from
 * inside other allocators.
 */
#define _GNU_SOURCE
#undef _FILE_OFFSET_BITS /* it would make mmap() another name of mmap64() */
#include "base/protections.h"
#include "engine/state.h"
#include "engine/unpin.h"
#include "pin/alteration.h"
#include "real/libc.h"
#include "shim/export.h"
#include "shim/libc/libc.h"
#include "stage/move.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#define unlikely(condition)   __builtin_expect(condition, 0)

/* Has libc, or whoever stands before it, the function?  Otherwise the kernel is asked itself. */
#define HAS(name)             (real_libc.name != NULL || (shim_libc_find() && real_libc.name != NULL))

/* Newer than the oldest headers that this is built with: Linux 5.4, 5.14, 6.1. */
#define ADVICE_COLD           20
#define ADVICE_PAGEOUT        21
#define ADVICE_POPULATE_READ  22
#define ADVICE_POPULATE_WRITE 23
#define ADVICE_COLLAPSE       25
#ifndef SYS_process_madvise
#define SYS_process_madvise 440 /* Linux 5.10 */
#endif

static void changes(const void *address, size_t bytes)
{
	if (unlikely(heap_touches(address, bytes)))
		pin_altered(address, bytes);
}

/*
 * The pages are to go elsewhere, which none that is pinned does; what the program sees at its
 * addresses stays the same, and may be pinned again when it is copied next.
 */
static void moves(const void *address, size_t bytes)
{
	if (unlikely(heap_touches(address, bytes)) && hp_keeps(moved_unpins))
		unpin_range(address, bytes);
}

/* Written when nobody else is there. */
static pid_t home;

void shim_limits_are_ours(void)
{
	home = getpid();
}

/* All that the heap's pages are anyway: after this they can only be as they were before. */
static void changes_protection(const void *address, size_t bytes, int protection)
{
	if (protection != (PROT_READ | PROT_WRITE) && hp_keeps(mprotect_unpins))
		changes(address, bytes);
}

/*
 * What is unknown changes the pages.  What only takes back another advice does nothing to a block
 * that was not given that one, and to others all has been done.
 */
static void is_advised(const void *address, size_t bytes, int advice)
{
	switch (advice) {
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
	case MADV_WILLNEED:
	case MADV_HUGEPAGE:
	case MADV_NOHUGEPAGE:
	case MADV_UNMERGEABLE:
	case MADV_DOFORK:
	case MADV_DODUMP:
	case MADV_KEEPONFORK:
	case ADVICE_COLD:
	case ADVICE_POPULATE_READ:
	case ADVICE_POPULATE_WRITE:
		return;
	case ADVICE_PAGEOUT:
	case ADVICE_COLLAPSE:
		moves(address, bytes);
		return;
	default:
		changes(address, bytes);
	}
}

HP_EXPORT int mprotect(void *address, size_t bytes, int protection)
{
	changes_protection(address, bytes, protection);
	if (HAS(mprotect))
		return real_libc.mprotect(address, bytes, protection);
	return (int)syscall(SYS_mprotect, address, bytes, protection);
}

HP_EXPORT int pkey_mprotect(void *address, size_t bytes, int protection, int key)
{
	move_keys_are_used();
	if (hp_keeps(pkey_mprotect_unpins))
		changes(address, bytes);
	if (HAS(pkey_mprotect))
		return real_libc.pkey_mprotect(address, bytes, protection, key);
	return (int)syscall(SYS_pkey_mprotect, address, bytes, protection, key);
}

HP_EXPORT int madvise(void *address, size_t bytes, int advice)
{
	if (hp_keeps(madvise_unpins))
		is_advised(address, bytes, advice);
	if (HAS(madvise))
		return real_libc.madvise(address, bytes, advice);
	return (int)syscall(SYS_madvise, address, bytes, advice);
}

HP_EXPORT int posix_madvise(void *address, size_t bytes, int advice)
{
	if (advice == POSIX_MADV_DONTNEED)
		changes(address, bytes);
	if (HAS(posix_madvise))
		return real_libc.posix_madvise(address, bytes, advice);
	/* Throwing data away is not what POSIX means: glibc does nothing either. */
	if (advice == POSIX_MADV_DONTNEED)
		return 0;
	int saved = errno;
	int error = syscall(SYS_madvise, address, bytes, advice) == 0 ? 0 : errno;
	errno = saved;
	return error;
}

/* A descriptor does not say whether the process is this one. */
HP_EXPORT ssize_t process_madvise(int process, const struct iovec *ranges, size_t count, int advice,
				  unsigned flags)
{
	for (size_t i = 0; heap_bytes != 0 && ranges != NULL && i < count && i < IOV_MAX; i++)
		if (hp_keeps(process_madvise_unpins))
			is_advised(ranges[i].iov_base, ranges[i].iov_len, advice);
	return syscall(SYS_process_madvise, process, ranges, count, advice, flags);
}

HP_EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	if (flags & MAP_FIXED && hp_keeps(mmap_unpins))
		changes(address, bytes);
	if (HAS(mmap))
		return real_libc.mmap(address, bytes, protection, flags, fd, offset);
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

HP_EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd,
		       off64_t offset)
{
	if (flags & MAP_FIXED && hp_keeps(mmap_unpins))
		changes(address, bytes);
	if (HAS(mmap64))
		return real_libc.mmap64(address, bytes, protection, flags, fd, offset);
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

HP_EXPORT int munmap(void *address, size_t bytes)
{
	if (hp_keeps(munmap_unpins))
		changes(address, bytes);
	if (HAS(munmap))
		return real_libc.munmap(address, bytes);
	return (int)syscall(SYS_munmap, address, bytes);
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
	if (hp_keeps(mremap_unpins))
		changes(address, old_bytes);
	if (flags & MREMAP_FIXED && hp_keeps(mremap_target_unpins))
		changes(target, bytes);
	if (HAS(mremap))
		return real_libc.mremap(address, old_bytes, bytes, flags, target);
	return (void *)syscall(SYS_mremap, address, old_bytes, bytes, flags, target);
}

/* libnuma's, which calls them by these names.  A policy stays with the addresses. */
HP_EXPORT long mbind(void *address, unsigned long bytes, int policy, const unsigned long *nodes,
		     unsigned long nodes_most, unsigned flags)
{
	if (hp_keeps(mbind_unpins))
		changes(address, bytes);
	return syscall(SYS_mbind, address, bytes, policy, nodes, nodes_most, (unsigned long)flags);
}

HP_EXPORT long move_pages(int pid, unsigned long count, void **pages, const int *nodes,
			  int *ret_nodes, int flags)
{
	bool here = hp_keeps(move_pages_unpins) && nodes != NULL && pages != NULL &&
		    (pid == 0 || pid == getpid());

	for (unsigned long i = 0; here && heap_bytes != 0 && i < count; i++)
		moves(pages[i], 1);
	return syscall(SYS_move_pages, pid, count, pages, nodes, ret_nodes, (long)flags);
}

/* What shmdt() takes away has come by this. */
HP_EXPORT void *shmat(int segment, const void *address, int flags)
{
	struct shmid_ds facts;
	int saved = errno;

	if (flags & SHM_REMAP && hp_keeps(shmat_unpins) && shmctl(segment, IPC_STAT, &facts) == 0)
		changes(address, facts.shm_segsz);
	errno = saved;
	if (HAS(shmat))
		return real_libc.shmat(segment, address, flags);
	return (void *)syscall(SYS_shmat, segment, address, flags);
}

/*
 * Locked pages stay locked when free() keeps them, and count against the program's limit: as
 * changed, the block is mapped anew.  munlock() has nothing to add to that.
 */
HP_EXPORT int mlock(const void *address, size_t bytes)
{
	if (hp_keeps(mlock_unpins))
		changes(address, bytes);
	if (HAS(mlock))
		return real_libc.mlock(address, bytes);
	return (int)syscall(SYS_mlock, address, bytes);
}

HP_EXPORT int mlock2(const void *address, size_t bytes, unsigned flags)
{
	if (hp_keeps(mlock_unpins))
		changes(address, bytes);
	if (HAS(mlock2))
		return real_libc.mlock2(address, bytes, flags);
	return (int)syscall(SYS_mlock2, address, bytes, flags);
}

/*
 * All that is mapped counts, and the heap has reserved more than any limit allows.  A child of
 * vfork() limits itself, but has the memory of its parent.
 */
static void has_limited(int resource)
{
	struct rlimit limit;

	if (hp_keeps(limits_close_the_heap) && (resource == RLIMIT_AS || resource == RLIMIT_DATA) &&
	    getpid() == home && getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		shim_libc_close_heap();
}

static int set_limit(pid_t pid, int resource, const void *limit, void *ret_old)
{
	return (int)syscall(SYS_prlimit64, pid, resource, limit, ret_old);
}

HP_EXPORT int setrlimit(__rlimit_resource_t resource, const struct rlimit *limit)
{
	int result = HAS(setrlimit) ? real_libc.setrlimit(resource, limit)
				    : set_limit(0, (int)resource, limit, NULL);

	if (result == 0)
		has_limited((int)resource);
	return result;
}

HP_EXPORT int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *limit)
{
	int result = HAS(setrlimit64) ? real_libc.setrlimit64(resource, limit)
				      : set_limit(0, (int)resource, limit, NULL);

	if (result == 0)
		has_limited((int)resource);
	return result;
}

HP_EXPORT int prlimit(pid_t pid, enum __rlimit_resource resource, const struct rlimit *limit,
		      struct rlimit *ret_old)
{
	int result = HAS(prlimit) ? real_libc.prlimit(pid, resource, limit, ret_old)
				  : set_limit(pid, (int)resource, limit, ret_old);

	if (result == 0 && limit != NULL && (pid == 0 || pid == getpid()))
		has_limited((int)resource);
	return result;
}

HP_EXPORT int prlimit64(pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *limit,
			struct rlimit64 *ret_old)
{
	int result = HAS(prlimit64) ? real_libc.prlimit64(pid, resource, limit, ret_old)
				    : set_limit(pid, (int)resource, limit, ret_old);

	if (result == 0 && limit != NULL && (pid == 0 || pid == getpid()))
		has_limited((int)resource);
	return result;
}

/* Reserved addresses count as memory to be locked, and what may be written would be populated. */
HP_EXPORT int mlockall(int flags)
{
	if (hp_keeps(limits_close_the_heap) &&
	    (flags & MCL_FUTURE || (flags & MCL_CURRENT && heap_bytes != 0)))
		shim_libc_close_heap();
	if (HAS(mlockall))
		return real_libc.mlockall(flags);
	return (int)syscall(SYS_mlockall, flags);
}
