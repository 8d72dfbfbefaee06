/*
 * mmap_threshold.c - frees a large block of glibc's when hotpin frees a larger one.
 *
 * glibc raises its mmap threshold to the size of the largest mapped block that was freed, 32 MiB at
 * most, and its trim threshold to twice that (mallopt(3), M_MMAP_THRESHOLD).  Blocks that hotpin
 * serves do not raise it.  Without this file every buffer from 128 KiB up to HOTPIN_HEAP_MIN would
 * be mapped, and its pages faulted in, at each allocation.
 *
 * Before glibc maps a block it consolidates all its small free chunks.  That took perl a seventh of
 * its run time when it happened at the end, where a program frees everything.  So hotpin allocates
 * the block when it serves another one, as glibc would have done then.  Raising the threshold later
 * extends the block to its final size, in one system call.
 */
#define _GNU_SOURCE
#include "heap/mmap_threshold.h"
#include "base/kernel.h"
#include "real/libc.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>

#define BLOCK_LEAST ((size_t)256 << 10)

_Atomic size_t mmap_threshold;
void *_Atomic mmap_threshold_block;

/* Returns the pages of a block that nobody uses.  MALLOC_PERTURB_ makes glibc write all of them. */
static void drop_pages(void *block, size_t bytes)
{
	uintptr_t from = ((uintptr_t)block + HP_PAGE_BYTES - 1) & -(uintptr_t)HP_PAGE_BYTES;
	uintptr_t to = ((uintptr_t)block + bytes) & -(uintptr_t)HP_PAGE_BYTES;

	hp_advise((void *)from, to - from, MADV_DONTNEED);
}

void mmap_threshold_prepare(void)
{
	size_t before = atomic_load(&mmap_threshold);
	size_t bytes = before < BLOCK_LEAST ? BLOCK_LEAST : 2 * before;
	void *none = NULL, *block;
	int saved = errno;

	block = real_libc.malloc(bytes);
	if (block != NULL)
		drop_pages(block, bytes);
	if (!atomic_compare_exchange_strong(&mmap_threshold_block, &none, block))
		real_libc.free(block);
	errno = saved;
}

void mmap_threshold_end(void)
{
	void *block = atomic_exchange(&mmap_threshold_block, NULL);

	if (block != NULL)
		real_libc.free(block);
}

void mmap_threshold_raise(void)
{
	size_t most = atomic_load_explicit(&heap_freed_most, memory_order_relaxed);
	size_t raised = MMAP_THRESHOLD_MOST;

	while (raised > most)
		raised /= 2;
	if (raised <= atomic_load(&mmap_threshold))
		return;
	void *block = atomic_exchange(&mmap_threshold_block, NULL), *longer;
	if (block == NULL)
		return;
	int saved = errno;
	atomic_store(&mmap_threshold, raised);
	longer = real_libc.realloc(block, raised);
	real_libc.free(longer != NULL ? longer : block);
	errno = saved;
}
