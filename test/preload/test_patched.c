/*
 * test_patched.c - libraries for RDMA (UCX, Open MPI, libfabric) cache registrations of host
 * memory.
 *
 * They overwrite the first bytes of libc's functions that change mappings, so that they also see
 * the calls of malloc() and free().  A registration whose pages go without such a call would send
 * stale data.  Here the functions are overwritten in the same way.
 */
#include "preload.h"
#include "sizes.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* The page of a registration, and whether a call has said that it goes. */
static volatile uintptr_t registered;
static volatile bool is_told;

static void goes(uintptr_t from, size_t bytes)
{
	if (registered >= from && registered - from < bytes)
		is_told = true;
}

static int patched_munmap(void *address, size_t bytes)
{
	goes((uintptr_t)address, bytes);
	return (int)syscall(SYS_munmap, address, bytes);
}

static int patched_madvise(void *address, size_t bytes, int advice)
{
	if (advice == MADV_DONTNEED)
		goes((uintptr_t)address, bytes);
	return (int)syscall(SYS_madvise, address, bytes, advice);
}

static void *patched_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t at)
{
	if (flags & MAP_FIXED)
		goes((uintptr_t)address, bytes);
	return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, at);
}

static void *patched_mremap(void *address, size_t bytes, size_t more, int flags, ...)
{
	va_list arguments;

	va_start(arguments, flags);
	void *target = va_arg(arguments, void *);
	va_end(arguments);
	goes((uintptr_t)address, bytes);
	return (void *)syscall(SYS_mremap, address, bytes, more, flags, target);
}

/* Overwrites the function of libc by a jump. */
static void patch(void *libc, const char *name, uintptr_t by)
{
	uint8_t jump[] = { 0x49, 0xbb, 0, 0, 0, 0, 0, 0, 0, 0, 0x41, 0xff, 0xe3 };
	uint8_t *at = dlsym(libc, name);
	uintptr_t page = (uintptr_t)at & -(uintptr_t)4096;

	memcpy(jump + 2, &by, sizeof(by));
	if (!CHECK(at != NULL) ||
	    !CHECK(syscall(SYS_mprotect, page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) == 0))
		return;
	memcpy(at, jump, sizeof(jump));
	syscall(SYS_mprotect, page, 8192, PROT_READ | PROT_EXEC);
}

static void patch_all(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);

	patch(libc, "munmap", (uintptr_t)patched_munmap);
	patch(libc, "madvise", (uintptr_t)patched_madvise);
	patch(libc, "mmap", (uintptr_t)patched_mmap);
	patch(libc, "mremap", (uintptr_t)patched_mremap);
}

/* Registers a page in the middle of the block. */
static void registers(const char *block, size_t bytes)
{
	registered = ((uintptr_t)block + bytes / 2) & -(uintptr_t)4096;
	is_told = false;
}

static char *volatile made;

static char *filled(size_t bytes)
{
	made = malloc(bytes);
	memset(made, 1, bytes);
	registers(made, bytes);
	return made;
}

TEST_AFTER(freed_and_trimmed, patch_all())
{
	static const size_t sizes[] = { MIB, 5 * MIB, 64 * MIB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		free(filled(sizes[i]));
		malloc_trim(0);
		CHECK(is_told);
	}
}

TEST_AFTER(of_huge_pages, patch_all())
{
	for (int turn = 0; turn < 8; turn++) {
		free(filled(64 * MIB));
		malloc_trim(0);
		CHECK(is_told);
	}
}

TEST_AFTER(grown, patch_all())
{
	char *block = filled(40 * MIB);
	char *other = malloc(40 * MIB);

	block = realloc(block, 400 * MIB);
	/* In place nothing has changed. */
	CHECK(is_told || registered - (uintptr_t)block < 40 * MIB);
	free(other);
	free(block);
}

TEST_AFTER(cleared, patch_all())
{
	made = malloc(64 * MIB);
	made[32 * MIB] = 1;
	registers(made, 64 * MIB);
	free(made);
	/* calloc() clears a sparse block by dropping its pages. */
	made = calloc(1, 64 * MIB);
	CHECK(is_told);
	free(made);
}

TEST_AFTER_WITH(after_the_heap_has_closed, patch_all(), "HOTPIN_LOG=error")
{
	struct rlimit limit;

	char *block = filled(8 * MIB);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur = (rlim_t)64 << 30;
	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	free(block);
	malloc_trim(0);
	CHECK(is_told);
}

PRELOAD_MAIN()
