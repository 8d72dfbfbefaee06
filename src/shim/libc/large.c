/*
 * large.c - the smallest size that the heap serves, and allocations of that size and more.
 */
#define _GNU_SOURCE
#include "shim/libc/large.h"
#include "base/counters.h"
#include "base/log.h"
#include "base/options.h"
#include "heap/heap.h"
#include "heap/pages.h"
#include "heap/reclaim.h"
#include "heap/site.h"
#include "real/binding.h"
#include "real/libc.h"
#include "shim/libc/first.h"
#include "trace/trace.h"

#include <errno.h>
#include <stdint.h>

/*
 * The smallest sizes by default.  glibc serves blocks below 128 KiB from an arena that it rarely
 * trims.  Without a device hotpin keeps only 32 MiB of freed blocks, so a program that frees and
 * allocates more than that in turns would fault its pages in each time: perl took 0.68 s instead of
 * 0.36 s.  Only copies are worth that; until there are copies heap_set_attended() leaves such a
 * program to glibc.
 */
#define HEAP_MIN_WITHOUT_DEVICE ((size_t)256 << 10)
#define HEAP_MIN_WITH_DEVICE    ((size_t)64 << 10)

/* glibc's DEFAULT_MMAP_THRESHOLD_MIN and DEFAULT_MMAP_THRESHOLD_MAX. */
#define MMAP_THRESHOLD_LEAST    ((size_t)128 << 10)
#define MMAP_THRESHOLD_MOST     ((size_t)32 << 20)

_Atomic size_t shim_large_freed_most = MMAP_THRESHOLD_LEAST;

/* True if the user has not set HOTPIN_HEAP_MIN. */
static bool is_automatic(void)
{
	return hp_options->heap_min == HP_AUTO;
}

/*
 * True if hotpin's blocks are freed by hotpin.  A program, or a library in front of hotpin, may
 * define some of these functions and leave others to hotpin.  Such a program would then free blocks
 * that its own allocator did not allocate.  If the allocator behind hotpin is not glibc, the
 * program may call functions that only that allocator has: jemalloc's sdallocx(), tc_free(),
 * mi_free().
 */
static bool blocks_return_here(void)
{
	static const char *const names[] = { "free", "realloc", "malloc_usable_size" };

	for (size_t i = 0; i < HP_LEN(names); i++)
		if (!binding_is_ours(names[i]))
			return false;
	return shim_libc_find() && binding_is_libcs((const void *)real_libc.malloc) &&
	       binding_is_libcs((const void *)real_libc.free);
}

void shim_large_start(void)
{
	size_t least = is_automatic() ? HEAP_MIN_WITHOUT_DEVICE : hp_options->heap_min;
	size_t off = SHIM_MALLOC_OFF;

	if (least == 0)
		return;
	if (!blocks_return_here()) {
		hp_info("the program has another malloc(), so its buffers are staged, not pinned");
		return;
	}
	pages_go_by(real_libc.madvise, real_libc.mmap);
	atomic_compare_exchange_strong(&shim_malloc.heap_min, &off, least);
}

/* Changes the smallest size; if the heap serves nothing, it stays so. */
static void serve_from(size_t bytes)
{
	size_t before = shim_malloc_least();

	while (before < SHIM_MALLOC_CLOSED &&
	       !atomic_compare_exchange_weak(&shim_malloc.heap_min, &before, bytes))
		continue;
}

/*
 * glibc raises its mmap threshold to the size of the largest mapped block that was freed, 32 MiB at
 * most, and its trim threshold to twice that (mallopt(3), M_MMAP_THRESHOLD).  With too low ones it
 * would map the program's other buffers again, and fault their pages in, at each allocation; with
 * too high ones it would keep freed memory.
 */
void shim_large_raise(size_t bytes)
{
	size_t most = atomic_load(&shim_large_freed_most);
	int saved = errno;

	if (bytes > MMAP_THRESHOLD_MOST)
		return;
	while (bytes > most)
		if (atomic_compare_exchange_weak(&shim_large_freed_most, &most, bytes)) {
			real_libc.free(real_libc.malloc(bytes));
			break;
		}
	errno = saved;
}

void shim_large_with_device(void)
{
	if (shim_malloc_least() >= SHIM_MALLOC_CLOSED)
		return;
	/* The housekeeper attends to the heap once there is a context. */
	heap_set_attended(false, is_automatic() ? HEAP_MIN_WITHOUT_DEVICE : 0);
	heap_set_device(true);
	if (is_automatic())
		serve_from(HEAP_MIN_WITH_DEVICE);
}

void shim_large_without_device(void)
{
	heap_set_device(false);
	heap_set_attended(false, 0);
	if (is_automatic())
		serve_from(HEAP_MIN_WITHOUT_DEVICE);
}

void shim_large_stop(const char *why)
{
	if (atomic_exchange(&shim_malloc.heap_min, SHIM_MALLOC_CLOSED) >= SHIM_MALLOC_CLOSED)
		return;
	hp_count(heap_shut);
	hp_info("%s and may free buffers unseen by hotpin, so no more are pinned", why);
}

void *shim_large_alloc(size_t bytes, size_t alignment, bool zeroed, const void *caller)
{
	if (bytes < shim_malloc_least())
		return NULL;
	uint32_t site = site_of(caller, __builtin_frame_address(0));

	trace_allocated(site, caller, __builtin_frame_address(0));
	return heap_alloc(bytes, alignment, zeroed, site);
}
